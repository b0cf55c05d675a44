"""Short ways to write what a route or the filter is configured with, and to read what it adds."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.support import RawResponse

FAULT_HEADERS = (
    "x-fault-injected-delay",
    "x-fault-actual-upstream",
    "x-fault-added-delay",
    "x-fault-requests-in-flight",
    "x-fault-worker-index",
    "x-fault-injected",
    "x-fault-status",
    "x-fault-upstream-status",
    "x-fault-profile",
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|µs|ns|m|s)")


def response(status: int, latency: str = "0s", *, weight: int = 1, **local: object) -> dict[str, Any]:
    """A response entry of one constant latency; `body` and `headers` (pairs) make its local response."""
    entry: dict[str, Any] = {
        "status": status,
        "resolution": weight,
        "distribution": {"p0": latency, "p100": latency},
    }
    return entry | ({"local_response": local} if local else {})


def profile(*responses: Mapping[str, Any], **fields: object) -> dict[str, Any]:
    """The direct shape of those responses; `fields` are of the behaviour or of the binding."""
    return {"responses": list(responses), **fields}


def always(status: int, latency: str = "0s", **fields: object) -> dict[str, Any]:
    """The direct shape that always answers one status after a constant latency."""
    return profile(response(status, latency), **fields)


def faults(answer: RawResponse | Iterable[tuple[str, str]]) -> dict[str, str]:
    """The `x-fault-*` headers of a response; each may be there once."""
    pairs = answer.headers if isinstance(answer, RawResponse) else answer
    found = [(name.lower(), value) for name, value in pairs if name.lower().startswith("x-fault-")]
    assert len(dict(found)) == len(found), found
    return {name: value.encode("latin-1").decode() for name, value in found}


def seconds(duration: str) -> float:
    """A duration in Go's text form."""
    assert "".join(part[0] for part in re.finditer(_PART, duration)) == duration, duration
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(duration))


def own(answer: RawResponse) -> dict[str, str]:
    """The headers of a response without those that Envoy and the filter add."""
    added = ("date", "server", "x-envoy-upstream-service-time")
    return {
        name: value for name, value in answer.headers if name not in added and not name.startswith("x-fault-")
    }
