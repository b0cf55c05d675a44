"""Load in a real Envoy: how many requests it has in flight decides which tier answers, and how slowly."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .held import Held, held
from .profiles import always, faults, response, seconds

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


class Probe:
    """Single requests at loads of the test's choice."""

    def __init__(self, envoy: EnvoyProcess, others: Held) -> None:
        self.set = others.set
        self._envoy = envoy

    def __call__(self, path: str, count: int) -> tuple[int, float]:
        """One request while `count` others are in flight: its status, and the penalty in seconds."""
        self.set(count)
        answer = exchange(self._envoy.address(), path=path)
        found = faults(answer)
        assert found["x-fault-requests-in-flight"] == str(count)
        assert found["x-fault-status"] == str(answer.status)
        return answer.status, seconds(found["x-fault-injected-delay"]) - FLAT[answer.status]

    def penalty(self, path: str, count: int) -> float:
        """The penalty alone."""
        return self(path, count)[1]


@pytest.fixture(scope="module")
def envoy() -> Iterator[tuple[EnvoyProcess, Upstream]]:
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES), concurrency=2) as process,
    ):
        yield process, upstream


@pytest.fixture
def probe(envoy: tuple[EnvoyProcess, Upstream]) -> Iterator[Probe]:
    process, upstream = envoy
    with held(process, upstream) as others:
        yield Probe(process, others)


def base(count: int) -> float:
    """The base penalty, scaled by the position."""
    return PENALTY * (count - HEALTHY) / (TIPPING - HEALTHY)


def near(value: float) -> Any:
    """That value, to a nanosecond and the rounding of a float."""
    return pytest.approx(value, abs=2 * NANOSECOND)


def test_the_process_s_load_chooses_the_tier(probe: Probe) -> None:
    """At or below the healthy threshold, and from the tipping point on, one tier answers as it is."""
    for count in (0, 1, HEALTHY):
        assert probe("/tiers", count) == (200, near(0))
    for count in (TIPPING, TIPPING + 2):
        assert probe("/tiers", count) == (503, near(0))


def test_the_grey_zone_mixes_the_tiers_and_adds_its_penalty(probe: Probe) -> None:
    """Between the thresholds either tier answers, each the slower the higher the position."""
    for count in (3, 4):
        statuses = {200: 0, 503: 0}
        for _ in range(120):
            status, penalty = probe("/mixed", count)
            statuses[status] += 1
            assert penalty == near(base(count))
        # A share of 1/4 or 1/2 misses this band once in a billion times.
        share = (count - HEALTHY) / (TIPPING - HEALTHY)
        assert abs(statuses[503] - 120 * share) < 6.1 * (120 * share * (1 - share)) ** 0.5


def test_a_spike_multiplies_the_penalty_and_lingers_after_it(probe: Probe) -> None:
    """From the spike threshold on the penalty is multiplied, and still is right after the drop below it."""
    assert probe.penalty("/spike", 4) == near(base(4))
    assert probe.penalty("/spike", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    assert probe.penalty("/spike", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    dropped = probe.penalty("/spike", 4)
    assert base(4) * MULTIPLIER * 0.99 < dropped <= base(4) * MULTIPLIER + NANOSECOND
    assert base(3) * MULTIPLIER * 0.99 < probe.penalty("/spike", 3) <= base(3) * MULTIPLIER


def test_the_tipping_tier_spikes_without_paying(probe: Probe) -> None:
    """A load beyond the tipping point starts a spike, whose recovery the grey zone pays."""
    assert probe("/tipping-spike", TIPPING) == (503, near(0))
    assert probe.penalty("/tipping-spike", 4) > base(4) * MULTIPLIER * 0.99


def test_the_healthy_tier_starts_the_recovery_without_paying(probe: Probe) -> None:
    """A drop to the healthy tier adds nothing there, and does not end the spike's recovery."""
    probe.penalty("/healthy-recovery", SPIKE_AT)
    assert probe("/healthy-recovery", 1) == (200, near(0))
    recovering = probe.penalty("/healthy-recovery", 4)
    assert base(4) * MULTIPLIER * 0.99 < recovering < base(4) * MULTIPLIER


def test_the_healthy_tier_sees_a_recovery_end(probe: Probe) -> None:
    """Time that passes at a healthy load is time of the recovery."""
    probe.penalty("/healthy-end", SPIKE_AT)
    probe.penalty("/healthy-end", 0)
    dropped = time.monotonic()
    wait_until(lambda: time.monotonic() > dropped + 0.05)
    assert probe.penalty("/healthy-end", 4) == near(base(4))


def test_recovery_takes_its_time(probe: Probe) -> None:
    """The penalty falls with the time since the drop was seen, and is the base penalty after the duration."""
    probe.penalty("/recovery", SPIKE_AT)
    probe.set(4)
    before = time.monotonic()
    probe.penalty("/recovery", 4)
    after = time.monotonic()
    last = base(4) * MULTIPLIER
    while time.monotonic() < before + 2:
        earliest = time.monotonic() - after
        penalty = probe.penalty("/recovery", 4)
        latest = time.monotonic() - before
        assert base(4) * MULTIPLIER * (1 - latest / 3) <= penalty <= base(4) * MULTIPLIER * (1 - earliest / 3)
        assert penalty < last
        last = penalty
    wait_until(lambda: time.monotonic() > after + 3)
    assert probe.penalty("/recovery", 4) == near(base(4))


def test_a_renewed_spike_resets_the_recovery(probe: Probe) -> None:
    """Back above the threshold the multiplier is whole, and the next drop counts from its own moment."""
    probe.penalty("/renewed", SPIKE_AT)
    probe.penalty("/renewed", 4)
    dropped = time.monotonic()
    wait_until(lambda: time.monotonic() > dropped + 1.5)
    assert probe.penalty("/renewed", 4) <= base(4) * MULTIPLIER / 2
    assert probe.penalty("/renewed", SPIKE_AT) == near(base(SPIKE_AT) * MULTIPLIER)
    probe.set(4)
    before = time.monotonic()
    penalty = probe.penalty("/renewed", 4)
    assert penalty >= base(4) * MULTIPLIER * (1 - (time.monotonic() - before) / 3)
