"""Whose state a route's is: its `endpoint`'s, or without one that of all routes that behave alike."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .held import held
from .profiles import faults, profile, response, seconds

SAMPLES = 20
CYCLE = {"status": 200, "resolution": SAMPLES, "distribution": {"p0": "0s", "p100": "20us"}}
WHOLE_CYCLE = [k + 0.5 for k in range(SAMPLES)]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def two_routes(upstream: Upstream, behavior: dict[str, Any], *, named: bool) -> dict[str, Any]:
    """`/a` and `/b` of one behaviour, each with its `endpoint` or both without."""
    routes = [route(f"/{name}", behavior | ({"endpoint": name} if named else {})) for name in "ab"]
    return static_bootstrap(upstream.port, routes=routes)


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_a_cycle_is_the_endpoint_s_or_all_unnamed_routes_together(upstream: Upstream, named: bool) -> None:
    """Each named route serves every sample once, two unnamed ones do together."""
    with EnvoyProcess(two_routes(upstream, profile(CYCLE), named=named)) as envoy:

        def drawn(path: str, count: int) -> list[float]:
            answers = [faults(exchange(envoy.address(), path=path)) for _ in range(count)]
            return [round(seconds(found["x-fault-injected-delay"]) * 1e6, 1) for found in answers]

        if named:
            assert sorted(drawn("/a", SAMPLES)) == sorted(drawn("/b", SAMPLES)) == WHOLE_CYCLE
        else:
            assert sorted(drawn("/a", SAMPLES // 2) + drawn("/b", SAMPLES // 2)) == WHOLE_CYCLE


@pytest.mark.parametrize(("named", "status"), [(True, 200), (False, 418)], ids=["named", "unnamed"])
def test_scope_endpoint_counts_so_too(upstream: Upstream, named: bool, status: int) -> None:
    """Three requests held at `/a` are in flight for `/b` only when nothing tells the two apart."""
    tiers = {
        "healthy": {"threshold_in_flight": 1, "responses": [response(200)]},
        "tipping_point": {"threshold_in_flight": 3, "responses": [response(418)]},
    }
    behavior = {"load_based": tiers | {"scope": "endpoint"}}
    config = two_routes(upstream, behavior, named=named)
    with EnvoyProcess(config) as envoy, held(envoy, upstream, "/a/hold") as others:
        others.set(3)
        assert exchange(envoy.address(), path="/b").status == status
