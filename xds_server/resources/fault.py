"""What the filter is configured with: a profile bound to an endpoint."""

from collections.abc import Iterable
from itertools import product

from brownout.domain import ANY_HOST, Endpoint, EndpointMatch, Fault, Profile, Stored
from brownout.profile import (
    Behavior,
    Binding,
    EndpointConfig,
    FilterConfig,
    HeaderMatch,
    Match,
    canonical_json,
    dump,
    filter_wire,
    load_profile,
    route_wire,
)

_NOTHING: Behavior = load_profile(
    {"responses": [{"status": 200, "resolution": 1, "distribution": {"p100": "0s"}}]}
)
"""A behaviour for an entry in which nobody takes part."""


def binding(endpoint: Endpoint, fault: Fault, profile: Stored[Profile]) -> Binding:
    """Return how the filter is to apply the profile; the label says which of its revisions."""
    return Binding(
        percent=fault.percent,
        expires_at=fault.expires_at,
        label=f"{profile.entity.name}@{profile.revision}",
        headers=fault.headers,
        endpoint=endpoint.name,
    )


def route_text(endpoint: Endpoint, fault: Fault, profile: Stored[Profile]) -> str:
    """Return what a route carries for the filter."""
    return route_wire(profile.entity.spec, binding(endpoint, fault, profile))


def entry_text(endpoint: Endpoint, fault: Fault | None, profile: Stored[Profile] | None) -> str:
    """Return an endpoint as entries of `endpoints[]`, separated by commas.

    Without a fault it still keeps its place: its requests are for no later entry. The filter's match knows
    neither hosts nor methods beside its headers, so each combination of them becomes an entry; state
    belongs to endpoint and behaviour, so they share one.
    """
    if fault is None or profile is None:
        behavior, bound = _NOTHING, Binding(percent=0, endpoint=endpoint.name)
    else:
        behavior, bound = profile.entity.spec, binding(endpoint, fault, profile)
    entries = (
        EndpointConfig(match=match, behavior=behavior, binding=bound) for match in matches(endpoint.match)
    )
    config = dump(FilterConfig(endpoints=tuple(entries)))
    return ",".join(canonical_json(each) for each in config["endpoints"])


def matches(match: EndpointMatch) -> Iterable[Match]:
    """Yield the filter's matches that together are the endpoint's."""
    hosts: tuple[str | None, ...] = (None,) if ANY_HOST in match.hosts else match.hosts
    methods: tuple[str | None, ...] = match.methods or (None,)
    for host, method in product(hosts, methods):
        conditions = [] if host is None else [HeaderMatch(name=":authority", exact_match=host)]
        if method is not None:
            conditions.append(HeaderMatch(name=":method", exact_match=method))
        yield Match(prefix=match.prefix, exact=match.exact, headers=(*conditions, *match.headers))


def filter_text(entries: Iterable[str] | None, *, halted: bool) -> str:
    """Return the filter-level configuration: `endpoints[]` spliced from `entries`, or only the halt."""
    if entries is None:
        return filter_wire(FilterConfig(halted=halted))
    tail = ',"halted":true}' if halted else "}"
    return '{"endpoints":[' + ",".join(entries) + "]" + tail
