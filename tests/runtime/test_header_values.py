"""Values of headers that a forced response carries arrive as they were written, on each Envoy."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import own, profile, response

GRPC = (("content-type", "application/grpc"), ("te", "trailers"))
VALUES = {"tab": "one\ttwo", "tabs": "a \t\t b", "empty": "", "quoted": '"a, b"; c="\\\\"'}
LATENCIES = {"held": "5ms", "now": "0s"}
OVERRIDES = ("local_response", "upstream_response")


def forcing(latency: str, override: str) -> dict[str, Any]:
    """One status with every value in a header of its own, and in the label."""
    headers = [[f"x-{name}", value] for name, value in VALUES.items()]
    return profile(response(418, latency, headers=headers), override=override, label=VALUES["tab"])


def sent(override: str) -> dict[str, str]:
    """What arrives: Envoy adds no empty header to an upstream's response."""
    return {name: value for name, value in VALUES.items() if value or override == "local_response"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(
        default=lambda request: (
            Behaviour.grpc(b"hello") if request.header("content-type") == "application/grpc" else Behaviour()
        )
    ) as server:
        yield server


@pytest.fixture(scope="module", params=["http1", "http2"])
def envoy(upstream: Upstream, version: str, request: pytest.FixtureRequest) -> Iterator[EnvoyProcess]:
    routes = [
        route(f"/{override}/{way}", forcing(latency, override))
        for override in OVERRIDES
        for way, latency in LATENCIES.items()
    ]
    config = static_bootstrap(upstream.port, routes=routes, http2=request.param == "http2")
    with EnvoyProcess(config, version=version) as process:
        yield process


@pytest.mark.parametrize("http2", [False, True], ids=["client-http1", "client-http2"])
@pytest.mark.parametrize("way", LATENCIES)
@pytest.mark.parametrize("override", OVERRIDES)
def test_values_arrive_whole(envoy: EnvoyProcess, override: str, way: str, http2: bool) -> None:
    """Tabs inside included, from a reply of Envoy's own and from a rewritten response."""
    answer = exchange(envoy.address(), path=f"/{override}/{way}", http2=http2)
    assert answer.status == 418
    found = own(answer)
    assert {name: value for name in VALUES if (value := found.get(f"x-{name}")) is not None} == sent(override)
    assert dict(answer.headers)["x-fault-profile"] == VALUES["tab"]


@pytest.mark.parametrize("way", LATENCIES)
@pytest.mark.parametrize("override", OVERRIDES)
def test_values_arrive_whole_in_a_grpc_answer(envoy: EnvoyProcess, override: str, way: str) -> None:
    """Which has them among its headers; the status of a rewritten one is in its trailers."""
    answer = exchange(
        envoy.address(), "POST", f"/{override}/{way}", headers=GRPC, body=b"\0\0\0\0\0", http2=True
    )
    found = own(answer)
    told = {pair for pair in (*answer.headers, *answer.trailers) if pair[0] == "grpc-status"}
    assert (answer.status, told) == (200, {("grpc-status", "2")})
    assert ("grpc-status" in found) is (override == "local_response")
    assert {name: value for name in VALUES if (value := found.get(f"x-{name}")) is not None} == sent(override)
