"""A small configuration for tests."""

from typing import Any

SPEC: dict[str, Any] = {
    "responses": [
        {"status": 200, "resolution": 900, "distribution": {"p50": "80ms", "p100": "900ms"}},
        {"status": 503, "resolution": 100, "distribution": {"p0": "5ms", "p100": "20ms"}},
    ]
}
PROFILE: dict[str, Any] = {"name": "slow", "description": "Mondays", "spec": SPEC}
UPSTREAM: dict[str, Any] = {"name": "payments", "hosts": [{"address": "127.0.0.1", "port": 9000}]}
FLEET: dict[str, Any] = {
    "name": "edge",
    "mode": "gateway",
    "listeners": [{"name": "http", "address": "127.0.0.1", "port": 10000}],
}


def endpoint(name: str, **fields: Any) -> dict[str, Any]:
    """An endpoint for `/NAME`."""
    return {"name": name, "match": {"prefix": f"/{name}"}, "upstream": "payments", **fields}


CONFIGURATION: dict[str, Any] = {
    "profiles": [PROFILE],
    "upstreams": [UPSTREAM],
    "fleets": [{**FLEET, "endpoints": [endpoint("pay"), endpoint("rest")]}],
}
