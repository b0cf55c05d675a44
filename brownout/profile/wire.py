"""From a value back to a document: plain data, and the one canonical JSON text of it."""

import json
from typing import Any

from brownout.profile.behavior import Behavior, dump_behavior
from brownout.profile.binding import Binding, dump_binding
from brownout.profile.configuration import FilterConfig, RouteConfig, dump_filter, dump_route
from brownout.profile.matching import Match, dump_match

SCHEMA_VERSION = 1
"""The version of the language: a module refuses fields of a later one."""

Dumpable = Behavior | Binding | Match | RouteConfig | FilterConfig


def dump(model: Dumpable) -> dict[str, Any]:
    """Return plain JSON-able data that loads as `model`: durations as Go prints them, defaults left out."""
    match model:
        case Behavior():
            return dump_behavior(model)
        case Binding():
            return dump_binding(model)
        case Match():
            return dump_match(model)
        case RouteConfig():
            return dump_route(model)
        case FilterConfig():
            return dump_filter(model)


def canonical_json(obj: object) -> str:
    """Return the one JSON text of plain data: keys sorted, no space, ASCII. Equal data, equal text."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), allow_nan=False)


def route_wire(behavior: Behavior, binding: Binding) -> str:
    """Return what travels in a route's `StringValue`; `load_route_config` reads it back."""
    return canonical_json({**dump_behavior(behavior), **dump_binding(binding)})


def filter_wire(config: FilterConfig) -> str:
    """Return what travels in the filter's `StringValue`; `load_filter_config` reads it back."""
    return canonical_json(dump_filter(config))
