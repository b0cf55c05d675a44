"""One route: the unit of compilation. The only message of which there are thousands."""

import re

from envoy_data_plane.envoy.config.route.v3 import (
    HeaderMatcher,
    RetryPolicy,
    Route,
    RouteAction,
    RouteMatch,
)
from envoy_data_plane.envoy.type.matcher.v3 import RegexMatcher, StringMatcher

from brownout.domain import DEFAULT_TIMEOUT, Endpoint, EndpointMatch, Retry
from xds_server import wire
from xds_server.resources.common import NAME, duration
from xds_server.resources.extension import route_fault


def route(endpoint: Endpoint) -> bytes:
    """Return the serialised Route of an endpoint, without its fault.

    The host is no part of it: that is the virtual host's matter.
    """
    timeout = DEFAULT_TIMEOUT if endpoint.timeout is None else endpoint.timeout
    message = Route(
        name=endpoint.name,
        match=_match(endpoint.match),
        route=RouteAction(
            cluster=endpoint.upstream,
            timeout=duration(timeout),
            retry_policy=None if endpoint.retry is None else _retry(endpoint.retry),
        ),
    )
    return bytes(message)


def with_fault(route_bytes: bytes, config: str) -> bytes:
    """Return a serialised Route that in addition configures the filter, and so enables it.

    `typed_per_filter_config` is a map, whose entries are messages with a key and a value: one more is
        appended.
    """
    return route_bytes + wire.field(13, wire.text(1, NAME) + wire.field(2, route_fault(config)))


def with_ports(route_bytes: bytes, ports: frozenset[str]) -> bytes:
    """Return a serialised Route that in addition wants one of `ports` in `:authority`.

    The two messages are merged by being concatenated: the condition joins those of the route's match.
    """
    condition = HeaderMatcher(name=":authority", string_match=_one_of(ports, before=".*:"))
    return route_bytes + wire.field(1, wire.field(6, bytes(condition)))


def _match(match: EndpointMatch) -> RouteMatch:
    # Envoy compares a prefix with the whole path and `path` with the path without its query, as the profile
    # language's match does. Without either everything matches, `OPTIONS *` too.
    headers = []
    if match.methods:
        headers.append(HeaderMatcher(name=":method", string_match=_one_of(match.methods)))
    for header in match.headers:
        if header.exact_match is None:
            headers.append(HeaderMatcher(name=header.name, present_match=True))
        else:
            headers.append(
                HeaderMatcher(name=header.name, string_match=StringMatcher(exact=header.exact_match))
            )
    if match.exact is not None:
        return RouteMatch(path=match.exact, headers=headers)
    return RouteMatch(prefix=match.prefix or "", headers=headers)


def _one_of(values: tuple[str, ...] | frozenset[str], *, before: str = "") -> StringMatcher:
    if len(values) == 1 and not before:
        return StringMatcher(exact=next(iter(values)))
    choice = "|".join(re.escape(value) for value in sorted(values))
    return StringMatcher(safe_regex=RegexMatcher(regex=f"{before}(?:{choice})"))


def _retry(retry: Retry) -> RetryPolicy:
    return RetryPolicy(
        retry_on=retry.retry_on,
        num_retries=retry.attempts,
        per_try_timeout=None if retry.per_try_timeout is None else duration(retry.per_try_timeout),
    )
