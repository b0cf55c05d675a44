"""What Envoy hands to the filter: a route's configuration, and the filter's own."""

from typing import Any

from brownout.profile.behavior import BEHAVIOR_FIELDS, Behavior, dump_behavior, read_behavior
from brownout.profile.binding import BINDING_FIELDS, Binding, dump_binding, read_binding
from brownout.profile.matching import Match, dump_match, read_match
from brownout.profile.model import Model
from brownout.profile.reading import Fields, Value
from brownout.profile.scalars import boolean

_ROUTE_FIELDS = (*BEHAVIOR_FIELDS, *BINDING_FIELDS)
_ENTRY_FIELDS = ("match", *_ROUTE_FIELDS)
_FILTER_FIELDS = ("endpoints", "halted", *_ROUTE_FIELDS)

_ONLY_IN_FILTER = {
    "endpoints": "belongs to the filter-level configuration only: a route's own has responses or load_based, "
    "because Envoy has matched the route already",
    "halted": "belongs to the filter-level configuration only",
}
_MISPLACED_IN_PROFILE = {
    **_ONLY_IN_FILTER,
    **dict.fromkeys(
        BINDING_FIELDS, "belongs to the fault that binds a profile to an endpoint, not to the profile"
    ),
    "match": "belongs to an endpoint, not to its profile",
}
_MISPLACED_IN_ROUTE = {
    **_ONLY_IN_FILTER,
    "match": "belongs to an entry of endpoints: Envoy has matched the route already",
}
_MISPLACED_IN_FILTER = {"match": "belongs to an entry of endpoints"}
# Beside `endpoints` these are every entry's default.
_DEFAULTS = ("probability_distribution", "diagnostic")


class RouteConfig(Model):
    """A behaviour and how it is bound: what a route carries."""

    behavior: Behavior
    binding: Binding


class EndpointConfig(Model):
    """An entry of `endpoints`: which requests, and what is done to them."""

    match: Match
    behavior: Behavior
    binding: Binding


class FilterConfig(Model):
    """The filter-level configuration: endpoints (the first that matches wins), one behaviour, or neither.

    `halted` stops all injection of the process.
    """

    endpoints: tuple[EndpointConfig, ...] | None = None
    direct: RouteConfig | None = None
    halted: bool = False


def read_profile(value: Value) -> Behavior | None:
    """Read a profile: a behaviour without a binding."""
    fields = Fields.of(value, BEHAVIOR_FIELDS, _MISPLACED_IN_PROFILE)
    if fields is None:
        return None
    fields.one_of("responses", "load_based")
    return read_behavior(fields)


def read_route(value: Value) -> RouteConfig | None:
    """Read a route's configuration."""
    fields = Fields.of(value, _ROUTE_FIELDS, _MISPLACED_IN_ROUTE)
    if fields is None:
        return None
    fields.one_of("responses", "load_based")
    return RouteConfig(behavior=read_behavior(fields), binding=read_binding(fields))


def read_filter(value: Value) -> FilterConfig | None:
    """Read the filter-level configuration; `halted` may stand alone."""
    fields = Fields.of(value, _FILTER_FIELDS, _MISPLACED_IN_FILTER)
    if fields is None:
        return None
    halted = fields.defaulted("halted", boolean, False)
    if fields.only("halted"):
        return FilterConfig(halted=halted)
    fields.one_of("endpoints", "responses", "load_based")
    behavior = read_behavior(fields)
    binding = read_binding(fields)
    if "endpoints" not in fields:
        return FilterConfig(direct=RouteConfig(behavior=behavior, binding=binding), halted=halted)
    for name in _ROUTE_FIELDS:
        if name not in (*_DEFAULTS, "responses", "load_based"):
            fields.refuse(name, "belongs to each entry of endpoints")
    endpoints = fields.optional(
        "endpoints", lambda entries: entries.each(lambda entry: _read_entry(entry, behavior))
    )
    return FilterConfig(endpoints=endpoints, halted=halted)


def _read_entry(value: Value, defaults: Behavior) -> EndpointConfig | None:
    fields = Fields.of(value, _ENTRY_FIELDS, _ONLY_IN_FILTER)
    if fields is None:
        return None
    match = fields.defaulted("match", read_match, _MATCH_ALL)
    fields.one_of("responses", "load_based")
    return EndpointConfig(match=match, behavior=read_behavior(fields, defaults), binding=read_binding(fields))


_MATCH_ALL = Match()


def dump_route(route: RouteConfig) -> dict[str, Any]:
    """Return the mapping that `read_route` reads as `route`."""
    return {**dump_behavior(route.behavior), **dump_binding(route.binding)}


def dump_filter(config: FilterConfig) -> dict[str, Any]:
    """Return the mapping that `read_filter` reads as `config`."""
    if config.endpoints is not None:
        plain: dict[str, Any] = {"endpoints": [_dump_entry(entry) for entry in config.endpoints]}
    elif config.direct is not None:
        plain = dump_route(config.direct)
    else:
        return {"halted": config.halted}
    return {**plain, "halted": True} if config.halted else plain


def _dump_entry(entry: EndpointConfig) -> dict[str, Any]:
    match = dump_match(entry.match)
    route = {**dump_behavior(entry.behavior), **dump_binding(entry.binding)}
    return {"match": match, **route} if match else route
