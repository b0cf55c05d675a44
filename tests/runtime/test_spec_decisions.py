"""Statements on the sampled status and the mode, each with what the client and the upstream see of it."""

import time
from collections.abc import Iterator

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import always, faults, profile, seconds

SAMPLES = 8
SPREAD = {"status": 200, "resolution": SAMPLES, "distribution": {"p0": "0s", "p100": "8us"}}
CYCLE = sorted(f"{k}.5µs" if k else "500ns" for k in range(SAMPLES))
ROUTES = [
    route("/forced/", always(503, "100ms")),
    route("/success/", always(200, "1ms")),
    route("/default", profile(SPREAD)),
    route("/stateful", profile(SPREAD, probability_distribution="stateful")),
    route("/stateless", profile(SPREAD, probability_distribution="stateless")),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        "/forced/60": Behaviour(delay=0.06),
        "/forced/150": Behaviour(delay=0.15),
        "/success/down": Behaviour(status=503, body=b"broken", headers=(("x-upstream", "1"),)),
    }
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module")
def address(upstream: Upstream) -> Iterator[tuple[str, int]]:
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES)) as envoy:
        yield envoy.address()


def test_a_forced_status_comes_after_what_remains_of_the_delay(address: tuple[str, int]) -> None:
    """Over an upstream of 60 ms a forced status of 100 ms comes after 100 ms, 40 of them added."""
    started = time.monotonic()
    answer = exchange(address, path="/forced/60")
    assert time.monotonic() - started >= 0.1
    assert answer.status == 503
    found = faults(answer)
    assert 0 < seconds(found["x-fault-added-delay"]) <= 0.04
    total = seconds(found["x-fault-added-delay"]) + seconds(found["x-fault-actual-upstream"])
    assert total == pytest.approx(0.1, abs=1e-9)


def test_a_forced_status_over_a_slower_upstream_comes_when_that_answers(address: tuple[str, int]) -> None:
    """No client gets its response before the upstream has answered, and none waits longer than needed."""
    started = time.monotonic()
    answer = exchange(address, path="/forced/150")
    took = time.monotonic() - started
    assert answer.status == 503
    assert "x-fault-added-delay" not in faults(answer)
    assert 0.15 <= seconds(faults(answer)["x-fault-actual-upstream"]) <= took
    assert took - seconds(faults(answer)["x-fault-actual-upstream"]) < 0.1


def test_the_upstream_gets_every_request(address: tuple[str, int], upstream: Upstream) -> None:
    """A forced response is no shortcut: the upstream has served the request."""
    before = upstream.counts["/forced/count"]
    for _ in range(3):
        assert exchange(address, path="/forced/count").status == 503
    assert upstream.counts["/forced/count"] == before + 3


def test_a_sampled_success_hides_a_failing_upstream_but_shows_it_in_the_headers(
    address: tuple[str, int],
) -> None:
    """The client gets an empty 200; the header keeps the backend's failure visible."""
    answer = exchange(address, path="/success/down")
    assert (answer.status, bytes(answer.body), answer.header("x-upstream")) == (200, b"", None)
    found = faults(answer)
    assert found["x-fault-injected"] == "response"
    assert (found["x-fault-status"], found["x-fault-upstream-status"]) == ("200", "503")


@pytest.mark.parametrize("path", ["/default", "/stateful"])
def test_the_stateful_mode_is_the_default_and_serves_its_samples_in_random_order(
    address: tuple[str, int], path: str
) -> None:
    """Each of twelve cycles serves its eight samples once, not all in the same order."""
    cycles = []
    for _ in range(12):
        drawn = [faults(exchange(address, path=path))["x-fault-injected-delay"] for _ in range(SAMPLES)]
        assert sorted(drawn) == CYCLE
        cycles.append(tuple(drawn))
    assert len(set(cycles)) > 1


def test_the_stateless_mode_interpolates_at_random(address: tuple[str, int]) -> None:
    """Forty requests have forty latencies, all between the ends."""
    drawn = [
        seconds(faults(exchange(address, path="/stateless"))["x-fault-injected-delay"]) for _ in range(40)
    ]
    assert len(set(drawn)) > 30  # they are whole nanoseconds, of 8,000
    assert 0 <= min(drawn) < max(drawn) <= 8e-6
