"""What holds between entities: the fleet's mode, and references to what must exist."""

from collections.abc import Container, Iterable, Iterator
from typing import Protocol

from brownout.domain.endpoint import DEFAULT_TIMEOUT, Endpoint
from brownout.domain.errors import nearby
from brownout.domain.fleet import Fleet
from brownout.domain.hosts import ANY_HOST
from brownout.domain.problems import join
from brownout.profile import FieldError, ValidationFailed


class Names(Container[str], Iterable[str], Protocol):
    """Names that exist: a mapping or a set."""


def settled(
    endpoint: Endpoint, fleet: Fleet, *, profiles: Names, upstreams: Names, path: str = ""
) -> Endpoint:
    """Return `endpoint` as it stands in `fleet`, with the default that the mode gives filled in.

    Raises:
        ValidationFailed: Every field that the mode does not know or misses, and every reference to nothing.
    """
    problems = [*_mode_problems(endpoint, fleet), *_dangling(endpoint, profiles, upstreams)]
    if problems:
        raise ValidationFailed(FieldError(join(path, each.path), each.message) for each in problems)
    if fleet.mode == "filter" or endpoint.timeout is not None:
        return endpoint
    return endpoint.model_copy(update={"timeout": DEFAULT_TIMEOUT})


def _mode_problems(endpoint: Endpoint, fleet: Fleet) -> Iterator[FieldError]:
    if fleet.mode == "filter":
        for name in ("upstream", "timeout", "retry"):
            if getattr(endpoint, name) is not None:
                yield FieldError(name, 'has no meaning in mode "filter": the Envoy keeps its own routes')
        for index, host in enumerate(endpoint.match.hosts):
            if host.startswith("*.") and host != ANY_HOST:
                yield FieldError(
                    f"match.hosts[{index}]",
                    'expected "*" or a whole host: mode "filter" knows no wildcard in a host',
                )
        return
    if endpoint.upstream is None:
        yield FieldError("upstream", f'is required in mode "{fleet.mode}"')
    if endpoint.retry is not None and endpoint.retry.per_try_timeout is not None:
        total = DEFAULT_TIMEOUT if endpoint.timeout is None else endpoint.timeout
        if total and endpoint.retry.per_try_timeout > total:
            yield FieldError("retry.per_try_timeout", "expected at most the endpoint's timeout")


def _dangling(endpoint: Endpoint, profiles: Names, upstreams: Names) -> Iterator[FieldError]:
    if endpoint.upstream is not None and endpoint.upstream not in upstreams:
        message = f"there is no upstream {endpoint.upstream!r}{nearby(endpoint.upstream, upstreams)}"
        yield FieldError("upstream", message)
    if endpoint.fault is not None and endpoint.fault.profile not in profiles:
        message = f"there is no profile {endpoint.fault.profile!r}{nearby(endpoint.fault.profile, profiles)}"
        yield FieldError("fault.profile", message)
