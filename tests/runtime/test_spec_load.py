"""Load in a real Envoy: how many requests it has in flight decides which tier answers, and how slowly."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    Gate,
    RawResponse,
    Upstream,
    exchange,
    route,
    static_bootstrap,
    wait_until,
)

from .profiles import always, faults, response, seconds

IN_FLIGHT = "cluster.upstream.brownout.in_flight"
HEALTHY, TIPPING = 2, 6
FLAT = {200: 0.001, 503: 0.002}
"""What each tier takes without a penalty; the status tells the tier."""
PENALTY = 0.008
MULTIPLIER = 4
SPIKE_AT = 5  # position 0.75
NANOSECOND = 1e-9


def under_load(endpoint: str, duration: str = "10h", **load: Any) -> dict[str, Any]:
    """Tiers of one flat latency each; an endpoint of its own has a spike of its own."""
    return {
        "load_based": {
            "healthy": {"threshold_in_flight": HEALTHY, "responses": [response(200, "1ms")]},
            "tipping_point": {"threshold_in_flight": TIPPING, "responses": [response(503, "2ms")]},
            "grey_zone": {
                "penalty_base": "8ms",
                "spike_threshold": 0.75,
                "spike_penalty_duration": duration,
                "spike_penalty_multiplier": MULTIPLIER,
                "recovery_rate": 1.0,
            },
        }
        | load,
        "endpoint": endpoint,
    }


ROUTES = [
    route("/hold", always(200, endpoint="hold")),
    route("/tiers", under_load("tiers")),
    route("/mixed", under_load("mixed")),
    route("/spike", under_load("spike")),
    route("/tipping-spike", under_load("tipping-spike")),
    route("/healthy-recovery", under_load("healthy-recovery")),
    route("/recovery", under_load("recovery", "3s")),
    route("/renewed", under_load("renewed", "3s")),
    route("/healthy-end", under_load("healthy-end", "50ms")),
]


@dataclass
class Load:
    """Requests that the upstream keeps at a gate, on a route of their own."""

    envoy: EnvoyProcess
    gate: Gate
    pool: ThreadPoolExecutor
    held: list["Future[RawResponse]"] = field(default_factory=list)

    def set(self, count: int) -> None:
        """Have exactly so many requests in flight."""
        address = self.envoy.address()
        more = count - len(self.held)
        if more < 0:
            self.gate.release(-more)
            for _ in range(-more):
                assert self.held.pop(0).result().status == 200
        self.held += [self.pool.submit(exchange, address, path="/hold") for _ in range(more)]
        wait_until(lambda: self.envoy.stat(IN_FLIGHT) == count)

    def probe(self, path: str, count: int) -> tuple[int, float]:
        """One request while `count` others are in flight: its status, and the penalty in seconds."""
        self.set(count)
        answer = exchange(self.envoy.address(), path=path)
        found = faults(answer)
        assert found["x-fault-requests-in-flight"] == str(count)
        assert found["x-fault-status"] == str(answer.status)
        return answer.status, seconds(found["x-fault-injected-delay"]) - FLAT[answer.status]

    def penalty(self, path: str, count: int) -> float:
        """The penalty alone."""
        return self.probe(path, count)[1]


@pytest.fixture(scope="module")
def envoy() -> Iterator[tuple[EnvoyProcess, Upstream]]:
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES), concurrency=2) as process,
    ):
        yield process, upstream


@pytest.fixture
def load(envoy: tuple[EnvoyProcess, Upstream]) -> Iterator[Load]:
    process, upstream = envoy
    gate = upstream.gate()
    upstream["/hold"] = Behaviour(gate=gate)
    with ThreadPoolExecutor(2 * TIPPING) as pool:
        load = Load(process, gate, pool)
        yield load
        gate.open()
    wait_until(lambda: process.stat(IN_FLIGHT) == 0)


def base(count: int) -> float:
    """The base penalty, scaled by the position."""
    return PENALTY * (count - HEALTHY) / (TIPPING - HEALTHY)


def near(value: float) -> Any:
    """That value, to a nanosecond and the rounding of a float."""
    return pytest.approx(value, abs=2 * NANOSECOND)


def test_the_process_s_load_chooses_the_tier(load: Load) -> None:
    """At or below the healthy threshold, and from the tipping point on, one tier answers as it is."""
    for count in (0, 1, HEALTHY):
        assert load.probe("/tiers", count) == (200, near(0))
    for count in (TIPPING, TIPPING + 2):
        assert load.probe("/tiers", count) == (503, near(0))


def test_the_grey_zone_mixes_the_tiers_and_adds_its_penalty(load: Load) -> None:
    """Between the thresholds either tier answers, each the slower the higher the position."""
    for count in (3, 4):
        statuses = {200: 0, 503: 0}
        for _ in range(120):
            status, penalty = load.probe("/mixed", count)
            statuses[status] += 1
            assert penalty == near(base(count))
        # A share of 1/4 or 1/2 misses this band once in a billion times.
        share = (count - HEALTHY) / (TIPPING - HEALTHY)
        assert abs(statuses[503] - 120 * share) < 6.1 * (120 * share * (1 - share)) ** 0.5


def test_a_spike_multiplies_the_penalty_and_lingers_after_it(load: Load) -> None:
    """From the spike threshold on the penalty is multiplied, and still is right after the drop below it."""
    assert load.penalty("/spike", 4) == near(base(4))
    assert load.penalty("/spike", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    assert load.penalty("/spike", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    dropped = load.penalty("/spike", 4)
    assert base(4) * MULTIPLIER * 0.99 < dropped <= base(4) * MULTIPLIER + NANOSECOND
    assert base(3) * MULTIPLIER * 0.99 < load.penalty("/spike", 3) <= base(3) * MULTIPLIER


def test_the_tipping_tier_spikes_without_paying(load: Load) -> None:
    """A load beyond the tipping point starts a spike, whose recovery the grey zone pays."""
    assert load.probe("/tipping-spike", TIPPING) == (503, near(0))
    assert load.penalty("/tipping-spike", 4) > base(4) * MULTIPLIER * 0.99


def test_the_healthy_tier_starts_the_recovery_without_paying(load: Load) -> None:
    """A drop to the healthy tier adds nothing there, and does not end the spike's recovery."""
    load.penalty("/healthy-recovery", SPIKE_AT)
    assert load.probe("/healthy-recovery", 1) == (200, near(0))
    recovering = load.penalty("/healthy-recovery", 4)
    assert base(4) * MULTIPLIER * 0.99 < recovering < base(4) * MULTIPLIER


def test_the_healthy_tier_sees_a_recovery_end(load: Load) -> None:
    """Time that passes at a healthy load is time of the recovery."""
    load.penalty("/healthy-end", SPIKE_AT)
    load.penalty("/healthy-end", 0)
    dropped = time.monotonic()
    wait_until(lambda: time.monotonic() > dropped + 0.05)
    assert load.penalty("/healthy-end", 4) == near(base(4))


def test_recovery_takes_its_time(load: Load) -> None:
    """The penalty falls with the time since the drop was seen, and is the base penalty after the duration."""
    load.penalty("/recovery", SPIKE_AT)
    load.set(4)
    before = time.monotonic()
    load.penalty("/recovery", 4)
    after = time.monotonic()
    last = base(4) * MULTIPLIER
    while time.monotonic() < before + 2:
        earliest = time.monotonic() - after
        penalty = load.penalty("/recovery", 4)
        latest = time.monotonic() - before
        assert base(4) * MULTIPLIER * (1 - latest / 3) <= penalty <= base(4) * MULTIPLIER * (1 - earliest / 3)
        assert penalty < last
        last = penalty
    wait_until(lambda: time.monotonic() > after + 3)
    assert load.penalty("/recovery", 4) == near(base(4))


def test_a_renewed_spike_resets_the_recovery(load: Load) -> None:
    """Back above the threshold the multiplier is whole, and the next drop counts from its own moment."""
    load.penalty("/renewed", SPIKE_AT)
    load.penalty("/renewed", 4)
    dropped = time.monotonic()
    wait_until(lambda: time.monotonic() > dropped + 1.5)
    assert load.penalty("/renewed", 4) <= base(4) * MULTIPLIER / 2
    assert load.penalty("/renewed", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    load.set(4)
    before = time.monotonic()
    penalty = load.penalty("/renewed", 4)
    assert penalty >= base(4) * MULTIPLIER * (1 - (time.monotonic() - before) / 3)
