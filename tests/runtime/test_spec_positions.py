"""The filter among a listener's filters: halt, expiry, load and cycles are what they are in a cluster."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .discovery import discovered_filter, write_filter
from .profiles import always, faults, profile, response

HELD = 10
PREFIX = "brownout"
BODY = b"the upstream's own"


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(default=Behaviour(body=BODY)) as server:
        yield server


def downstream(upstream: Upstream, *routes: dict[str, Any]) -> dict[str, Any]:
    """A bootstrap with the filter in downstream position."""
    return static_bootstrap(upstream.port, routes=routes, position="downstream")


def test_a_halt_lets_go_what_is_held(upstream: Upstream, tmp_path: Path) -> None:
    """Held responses go on as the upstream sent them, none is injected, and resuming injects again."""
    path = tmp_path / "filter.json"
    write_filter(path, {"halted": False}, "1")
    config = downstream(upstream, route("/quick", always(503)), route("/", always(503, "60s")))
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["http_filters"][0] = discovered_filter(path)
    with EnvoyProcess(config, concurrency=2) as envoy, ThreadPoolExecutor(HELD) as pool:
        address = envoy.address()
        waiting = [pool.submit(exchange, address) for _ in range(HELD)]
        wait_until(lambda: envoy.stat(f"{PREFIX}.held") == HELD)
        write_filter(path, {"halted": True}, "2")
        answers = [answer.result() for answer in waiting]
        assert {(answer.status, bytes(answer.body)) for answer in answers} == {(200, BODY)}
        assert all(faults(answer) == {} for answer in answers)
        assert envoy.stat(f"{PREFIX}.released") == HELD
        assert exchange(address, path="/quick").status == 200
        write_filter(path, {"halted": False}, "3")
        wait_until(lambda: exchange(address, path="/quick").status == 503)
        wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)


def test_expiry_lets_go_what_is_held(upstream: Upstream) -> None:
    """At its deadline a fault lets go of its responses, and injects no more."""
    deadline = datetime.now(UTC) + timedelta(seconds=3)
    config = downstream(upstream, route("/", always(503, "60s", expires_at=deadline.isoformat())))
    with EnvoyProcess(config) as envoy:
        started = time.monotonic()
        answer = exchange(envoy.address())
        assert time.monotonic() - started < 4
        assert (answer.status, bytes(answer.body), faults(answer)) == (200, BODY, {})
        assert faults(exchange(envoy.address())) == {}
        assert envoy.stat(f"{PREFIX}.expired_2xx") == 2
        assert envoy.stat(f"{PREFIX}.held") == 0


def counts(envoy: EnvoyProcess, in_flight: int) -> bool:
    """Whether so many are in flight."""
    return envoy.stat(f"{PREFIX}.in_flight") == in_flight


def test_the_load_decides(upstream: Upstream) -> None:
    """In-flight requests of the listener's filter choose the tier, too."""
    tiers = {
        "load_based": {
            "healthy": {"threshold_in_flight": 1, "responses": [response(200)]},
            "tipping_point": {"threshold_in_flight": 2, "responses": [response(503)]},
        }
    }
    config = downstream(upstream, route("/hold", always(200)), route("/", tiers))
    gate = upstream.gate()
    upstream["/hold"] = Behaviour(gate=gate)
    with EnvoyProcess(config) as envoy, ThreadPoolExecutor(2) as pool:
        address = envoy.address()
        for in_flight, status in ((0, 200), (1, 200), (2, 503)):
            gate.wait_waiting(in_flight)
            answer = exchange(address)
            assert (answer.status, faults(answer)["x-fault-requests-in-flight"]) == (status, str(in_flight))
            wait_until(partial(counts, envoy, in_flight))
            pool.submit(exchange, address, path="/hold")
        gate.open()


@pytest.mark.parametrize("position", ["upstream", "downstream"])
def test_each_position_serves_whole_cycles(upstream: Upstream, position: str) -> None:
    """The filter-level direct shape goes through its samples once a cycle, and adds what is missing."""
    cycle = profile(response(200, weight=20) | {"distribution": {"p0": "1ms", "p100": "3ms"}})
    config = static_bootstrap(upstream.port, filter_config=cycle, position=position)
    with EnvoyProcess(config) as envoy:
        for _ in range(2):
            found = [faults(exchange(envoy.address())) for _ in range(20)]
            samples = sorted(float(one["x-fault-injected-delay"].removesuffix("ms")) for one in found)
            assert samples == pytest.approx([1 + (k + 0.5) / 10 for k in range(20)])
