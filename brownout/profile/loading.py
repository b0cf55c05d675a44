"""From a document to a checked value: the language's front door."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from brownout.profile.behavior import Behavior
from brownout.profile.configuration import FilterConfig, RouteConfig, read_filter, read_profile, read_route
from brownout.profile.documents import read_document
from brownout.profile.reading import Findings, Value

Raw = Mapping[str, Any] | bytes | str
"""A YAML or JSON document, or what one would be parsed to."""

T = TypeVar("T")


def load_profile(raw: Raw, *, path: str = "") -> Behavior:
    """Return a profile's behaviour.

    Args:
        raw: The document.
        path: What every path in an error begins with, as `spec`.

    Raises:
        ValidationFailed: Every error at once.
    """
    return _load(raw, read_profile, Findings(path))


def load_route_config(raw: Raw) -> RouteConfig:
    """Return a per-route configuration: a behaviour and its binding side by side.

    Raises:
        ValidationFailed: Every error at once.
    """
    return _load(raw, read_route, Findings(from_envoy=True))


def load_filter_config(raw: Raw) -> FilterConfig:
    """Return a filter-level configuration. The empty document, which Envoy passes for none, injects nothing.

    Raises:
        ValidationFailed: Every error at once.
    """
    if isinstance(raw, bytes | str) and not raw:
        return FilterConfig()
    return _load(raw, read_filter, Findings(from_envoy=True))


def _load(raw: Raw, read: Callable[[Value], T | None], findings: Findings) -> T:
    value = read_document(raw, findings) if isinstance(raw, bytes | str) else raw
    result = read(Value(value, findings))
    findings.check()
    assert result is not None, "a reader that returns None has noted why"  # noqa: S101
    return result
