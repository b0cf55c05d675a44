"""The filter in a cluster, in a connection manager and in both: what it does is the same, and done once."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until
from tests.support.load import get_many

from .discovery import discovered_filter, write_filter
from .profiles import always, faults, profile, response

HELD = 10
BODY = b"the upstream's own"
OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
PLACES = ("brownout", "cluster.upstream.brownout")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(default=Behaviour(body=BODY)) as server:
        yield server


@pytest.fixture(params=["upstream", "downstream", "both"])
def position(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def total(envoy: EnvoyProcess, name: str) -> int:
    """A counter or gauge of both places together."""
    return sum(envoy.stat(f"{place}.{name}") for place in PLACES)


def counts(envoy: EnvoyProcess, in_flight: int) -> bool:
    """Whether so many are in flight."""
    return total(envoy, "in_flight") == in_flight


def discovered_in(path: Path, position: str, config: dict[str, Any]) -> dict[str, Any]:
    """The bootstrap with its filters taken from a file."""
    resources = config["static_resources"]
    if position != "upstream":
        manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
        manager["http_filters"][0] = discovered_filter(path)
    if position != "downstream":
        options = resources["clusters"][0]["typed_extension_protocol_options"][OPTIONS]
        options["http_filters"][0] = discovered_filter(path)
    return config


def test_a_halt_lets_go_what_is_held(upstream: Upstream, position: str, tmp_path: Path) -> None:
    """Held responses go on as the upstream sent them, none is injected, and resuming injects again."""
    path = tmp_path / "filter.json"
    write_filter(path, {"halted": False}, "1")
    routes = [route("/quick", always(503)), route("/", always(503, "60s"))]
    config = discovered_in(path, position, static_bootstrap(upstream.port, routes=routes, position=position))
    with EnvoyProcess(config, concurrency=2) as envoy, ThreadPoolExecutor(HELD) as pool:
        address = envoy.address()
        waiting = [pool.submit(exchange, address) for _ in range(HELD)]
        wait_until(lambda: total(envoy, "held") == HELD)
        write_filter(path, {"halted": True}, "2")
        answers = [answer.result() for answer in waiting]
        assert {(answer.status, bytes(answer.body)) for answer in answers} == {(200, BODY)}
        assert all(faults(answer) == {} for answer in answers)
        assert total(envoy, "released") == HELD
        assert exchange(address, path="/quick").status == 200
        write_filter(path, {"halted": False}, "3")
        wait_until(lambda: exchange(address, path="/quick").status == 503)
        wait_until(partial(counts, envoy, 0))


def test_expiry_lets_go_what_is_held(upstream: Upstream, position: str) -> None:
    """At its deadline a fault lets go of its responses, and injects no more."""
    deadline = datetime.now(UTC) + timedelta(seconds=3)
    rule = always(503, "60s", expires_at=deadline.isoformat())
    config = static_bootstrap(upstream.port, routes=[route("/", rule)], position=position)
    with EnvoyProcess(config) as envoy:
        started = time.monotonic()
        answer = exchange(envoy.address())
        assert time.monotonic() - started < 4
        assert (answer.status, bytes(answer.body), faults(answer)) == (200, BODY, {})
        assert faults(exchange(envoy.address())) == {}
        assert total(envoy, "expired_2xx") == 2
        assert total(envoy, "held") == 0


def test_the_load_decides(upstream: Upstream, position: str) -> None:
    """Every request in flight counts once, for the tier, the header and the gauge."""
    tiers = {
        "load_based": {
            "healthy": {"threshold_in_flight": 1, "responses": [response(200)]},
            "tipping_point": {"threshold_in_flight": 2, "responses": [response(503)]},
        }
    }
    routes = [route("/hold", always(200)), route("/", tiers)]
    config = static_bootstrap(upstream.port, routes=routes, position=position)
    gate = upstream.gate()
    upstream["/hold"] = Behaviour(gate=gate)
    with EnvoyProcess(config) as envoy, ThreadPoolExecutor(4) as pool:
        address = envoy.address()
        for in_flight, status in ((0, 200), (1, 200), (2, 503), (3, 503)):
            gate.wait_waiting(in_flight)
            answer = exchange(address)
            assert (answer.status, faults(answer)["x-fault-requests-in-flight"]) == (status, str(in_flight))
            wait_until(partial(counts, envoy, in_flight))
            pool.submit(exchange, address, path="/hold")
        gate.open()


@pytest.mark.parametrize("place", ["filter", "route"])
def test_each_position_serves_whole_cycles(upstream: Upstream, place: str, position: str) -> None:
    """Filter-level or at a route: each sample once a cycle, and what is missing is added."""
    cycle = profile(response(200, weight=20) | {"distribution": {"p0": "1ms", "p100": "3ms"}})
    of: dict[str, Any] = {"filter_config": cycle} if place == "filter" else {"routes": [route("/", cycle)]}
    with EnvoyProcess(static_bootstrap(upstream.port, position=position, **of)) as envoy:
        for _ in range(2):
            found = [faults(exchange(envoy.address())) for _ in range(20)]
            samples = sorted(float(one["x-fault-injected-delay"].removesuffix("ms")) for one in found)
            assert samples == pytest.approx([1 + (k + 0.5) / 10 for k in range(20)])


@pytest.mark.parametrize("place", ["filter", "route"])
def test_half_of_the_requests_are_half(upstream: Upstream, place: str, position: str, version: str) -> None:
    """`percent: 50` takes part half of the time, however many filters a request passes."""
    rule, requests = always(503, percent=50), 2000
    of: dict[str, Any] = {"filter_config": rule} if place == "filter" else {"routes": [route("/", rule)]}
    config = static_bootstrap(upstream.port, position=position, **of)
    with EnvoyProcess(config, version=version) as envoy:
        answers = asyncio.run(get_many(envoy.address(), "/", requests, at_once=8))
        statuses = Counter(answer.status for answer in answers)
        assert set(statuses) == {200, 503}
        # A binomial band that is missed once in a million times.
        assert abs(statuses[503] - requests / 2) < 4.9 * (requests / 4) ** 0.5
        assert total(envoy, "injected_5xx") == statuses[503]
        assert all(("x-fault-status" in answer.headers) is (answer.status == 503) for answer in answers)


def test_a_request_counts_in_one_place(upstream: Upstream, position: str) -> None:
    """In that of the filter that decided: in the cluster, unless there is none."""
    routes = [route("/", always(503, "20ms"))]
    decides, other = PLACES if position == "downstream" else reversed(PLACES)
    with EnvoyProcess(static_bootstrap(upstream.port, routes=routes, position=position)) as envoy:
        answer = exchange(envoy.address())
        assert answer.status == 503
        assert faults(answer)["x-fault-injected"] == "abort"  # each header once
        assert envoy.stat(f"{decides}.injected_5xx") == envoy.stat(f"{decides}.delayed_5xx") == 1
        assert not any(envoy.stats(f"^{other}[.].*_[2-5]xx$").values())
