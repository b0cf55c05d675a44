"""Documents and commands that the tests of the store and the service share."""

from typing import Any

from brownout.domain import Draft, Endpoint, Fleet, Profile, Upstream

SPEC: dict[str, Any] = {
    "responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "1ms", "p100": "1000ms"}}]
}


def profile(name: str = "slow", **fields: Any) -> Profile:
    return Profile.load({"name": name, "spec": SPEC, **fields})


def upstream(name: str = "payments", port: int = 8080) -> Upstream:
    return Upstream.load({"name": name, "hosts": [{"address": "10.0.0.7", "port": port}]})


def fleet(name: str = "edge") -> Fleet:
    return Fleet.load({"name": name, "listeners": [{"name": "http", "address": "0.0.0.0", "port": 10000}]})


def endpoint(name: str = "pay", *, percent: float | None = None, upstream: str = "payments") -> Endpoint:
    fault = None if percent is None else {"profile": "slow", "percent": percent}
    return Endpoint.load({"name": name, "upstream": upstream, "timeout": "15s", "fault": fault})


def fill(draft: Draft, *endpoints: str) -> None:
    """Put a profile, an upstream, a fleet and its endpoints."""
    draft.put("slow", profile())
    draft.put("payments", upstream())
    draft.put("edge", fleet())
    for name in endpoints or ("pay",):
        draft.put(f"edge/{name}", endpoint(name, percent=100))
