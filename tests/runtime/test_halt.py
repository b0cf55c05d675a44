"""The kill switch and the deadline: what is held is let go, and nothing is injected any more."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .discovery import discovered, write_filter
from .profiles import always, faults, profile, response

HELD = 20
PREFIX = "cluster.upstream.brownout"


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(default=Behaviour(body=b"the upstream's own")) as server:
        yield server


def test_halting_lets_go_what_is_held_and_resuming_injects_again(
    upstream: Upstream, tmp_path: Path, version: str
) -> None:
    """`halted: true` releases all that is held as the upstream sent it; `halted: false` ends the halt."""
    path = tmp_path / "filter.json"
    write_filter(path, {"halted": False}, "1")
    routes = [route("/quick", always(503)), route("/", always(503, "60s"))]
    config = discovered(path, upstream.port, routes=routes)
    with EnvoyProcess(config, version=version, concurrency=2) as envoy, ThreadPoolExecutor(HELD) as pool:
        waiting = [pool.submit(exchange, envoy.address()) for _ in range(HELD)]
        wait_until(lambda: envoy.stat(f"{PREFIX}.held") == HELD)
        started = time.monotonic()
        write_filter(path, {"halted": True}, "2")
        answers = [answer.result() for answer in waiting]
        assert time.monotonic() - started < 10
        assert {(answer.status, bytes(answer.body)) for answer in answers} == {(200, b"the upstream's own")}
        assert all(faults(answer) == {} for answer in answers)
        assert envoy.stat(f"{PREFIX}.released") == HELD
        assert envoy.stat(f"{PREFIX}.held") == 0
        assert exchange(envoy.address(), path="/quick").status == 200
        assert faults(exchange(envoy.address(), path="/quick")) == {}
        write_filter(path, {"halted": False}, "3")
        wait_until(lambda: exchange(envoy.address(), path="/quick").status == 503)
        assert envoy.stat("cluster_manager.cluster_modified") == 0
        wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)


def test_a_halt_keeps_the_cycle(upstream: Upstream, tmp_path: Path) -> None:
    """After halt and resume the cycle goes on where it was: no sample comes twice."""
    samples = 30
    cycle = {"status": 200, "resolution": samples, "distribution": {"p0": "0s", "p100": "30us"}}
    path = tmp_path / "filter.json"
    write_filter(path, {"halted": False}, "1")
    config = discovered(path, upstream.port, routes=[route("/", profile(cycle))])
    with EnvoyProcess(config) as envoy:
        drawn = [faults(exchange(envoy.address()))["x-fault-injected-delay"] for _ in range(samples // 2)]
        write_filter(path, {"halted": True}, "2")
        while found := faults(exchange(envoy.address())):
            drawn.append(found["x-fault-injected-delay"])
        write_filter(path, {"halted": False}, "3")
        while len(drawn) < samples:
            found = faults(exchange(envoy.address()))
            drawn += [found["x-fault-injected-delay"]] if found else []
    assert sorted(drawn) == sorted("500ns" if k == 0 else f"{k}.5µs" for k in range(samples))


def test_a_halt_at_start(upstream: Upstream) -> None:
    """A configuration that is halted from the start injects nothing."""
    config = static_bootstrap(upstream.port, filter_config=always(503, "1ms", halted=True))
    with EnvoyProcess(config) as envoy:
        answer = exchange(envoy.address())
    assert (answer.status, faults(answer)) == (200, {})


def soon(seconds: float) -> str:
    """An RFC 3339 moment."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def test_an_expired_fault_passes(upstream: Upstream) -> None:
    """After `expires_at` nothing is injected, and a counter says how often."""
    with EnvoyProcess(
        static_bootstrap(upstream.port, routes=[route("/", always(503, expires_at=soon(-1)))])
    ) as envoy:
        answer = exchange(envoy.address())
        assert (answer.status, faults(answer)) == (200, {})
        assert envoy.stat(f"{PREFIX}.expired_2xx") == 1
        assert envoy.stat(f"{PREFIX}.injected_5xx") == 0


def test_expiry_lets_go_what_is_held(upstream: Upstream, version: str) -> None:
    """A response that is held at `expires_at` goes on then, as the upstream sent it."""
    with EnvoyProcess(
        static_bootstrap(upstream.port, routes=[route("/long", always(503, "60s", expires_at=soon(3)))]),
        version=version,
    ) as envoy:
        assert envoy.running
        started = time.monotonic()
        answer = exchange(envoy.address(), path="/long")
        assert time.monotonic() - started < 4
        assert (answer.status, bytes(answer.body), faults(answer)) == (200, b"the upstream's own", {})
        assert envoy.stat(f"{PREFIX}.expired_2xx") == 1
        assert envoy.stat(f"{PREFIX}.held") == 0


def test_until_it_expires_a_fault_injects(upstream: Upstream) -> None:
    """A deadline in the future changes nothing."""
    rule = profile(response(503, "200ms"), expires_at=soon(3600))
    with EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", rule)])) as envoy:
        answer = exchange(envoy.address())
        assert answer.status == 503
        assert "x-fault-added-delay" in faults(answer)


@pytest.mark.parametrize(
    ("deadline", "status"), [("1678-01-01T00:00:00Z", 200), ("2261-12-31T23:59:59Z", 503)]
)
def test_the_first_and_the_last_deadline_count(upstream: Upstream, deadline: str, status: int) -> None:
    """All that the language takes, the clock of the filter can say."""
    rule = always(503, expires_at=deadline)
    with EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", rule)])) as envoy:
        assert exchange(envoy.address()).status == status


def test_percent_of_the_requests_take_part(upstream: Upstream) -> None:
    """With `percent: 30` about a third is injected; the others are untouched and uncounted."""
    rules = [route("/none", always(503, percent=0)), route("/", always(503, percent=30))]
    requests = 2000
    with EnvoyProcess(static_bootstrap(upstream.port, routes=rules)) as envoy:
        assert exchange(envoy.address(), path="/none").status == 200
        address = envoy.address()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: exchange(address), range(requests)))
        injected = [answer for answer in answers if answer.status == 503]
        # A 99.9 % binomial band: 600 +- 3.29 * sqrt(2000 * 0.3 * 0.7).
        assert abs(len(injected) - 600) < 68
        assert all(faults(answer) == {} for answer in answers if answer.status == 200)
        assert envoy.stat(f"{PREFIX}.injected_5xx") == len(injected)
