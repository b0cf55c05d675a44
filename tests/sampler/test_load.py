"""Behaviour under load: the tiers, the grey zone between them, its penalty, spikes and recoveries."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from brownout.profile import Behavior, load_profile
from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, response, together

RARE = 1e-9
HEALTHY, TIPPING = 10, 20
BASE = {200: 1_000_000, 503: 5_000_000}
"""The latency of each tier without a penalty; the status tells the tier."""
PENALTY = 50_000_000
MULTIPLIER = Fraction(3)
RATE = Fraction(1, 2)
SECOND = 1_000_000_000
DURATION = 2 * SECOND
SPIKE_AT = 18  # position 0.8


def load_based(scope: str = "process", **grey: Any) -> Behavior:
    """Return a behaviour whose tiers have one flat latency each."""
    grey = {
        "penalty_base": "50ms",
        "spike_threshold": 0.8,
        "spike_penalty_duration": "2s",
        "spike_penalty_multiplier": 3.0,
        "recovery_rate": 0.5,
    } | grey
    tiers = {
        "healthy": {"threshold_in_flight": HEALTHY, "responses": [response(200, p0="1ms", p100="1ms")]},
        "tipping_point": {"threshold_in_flight": TIPPING, "responses": [response(503, p0="5ms", p100="5ms")]},
    }
    return load_profile({"load_based": tiers | {"grey_zone": grey, "scope": scope}})


def without_grey_zone() -> Behavior:
    behavior = load_based()
    assert behavior.load_based is not None
    bare = behavior.load_based.model_copy(update={"grey_zone": None})
    return behavior.model_copy(update={"load_based": bare})


class Endpoint:
    """An endpoint whose clock and load the test controls."""

    def __init__(self, **grey: Any) -> None:
        self.sampler = Sampler(load_based(**grey))

    def penalty(self, in_flight: int, at: float) -> int:
        """Let one request observe a load at a time in seconds; return its penalty in nanoseconds."""
        statuses, ns = draws(self.sampler, 1, in_flight, round(at * SECOND))
        return int(ns[0]) - BASE[int(statuses[0])]


def base(in_flight: int) -> Fraction:
    return PENALTY * Fraction(in_flight - HEALTHY, TIPPING - HEALTHY)


def recovering(in_flight: int, elapsed: float) -> Fraction:
    """Return the penalty of the seed's formula."""
    gone = Fraction(round(elapsed * SECOND), DURATION)
    return base(in_flight) * MULTIPLIER * (1 - gone * RATE)


def same(found: int, expected: Fraction) -> bool:
    return abs(found - expected) <= 1


@pytest.mark.parametrize("in_flight", [0, 1, 9, 10])
def test_at_or_below_the_healthy_threshold(in_flight: int) -> None:
    """Only the healthy tier serves, and nothing is added."""
    statuses, ns = draws(Sampler(load_based()), 2_000, in_flight)
    assert set(statuses.tolist()) == {200}
    assert set(ns.tolist()) == {BASE[200]}


@pytest.mark.parametrize("in_flight", [20, 21, 1_000, 2**63 - 1, 2**64 - 1])
def test_at_or_above_the_tipping_point(in_flight: int) -> None:
    """Only the tipping tier serves, and nothing is added although the spike is on."""
    statuses, ns = draws(Sampler(load_based()), 2_000, in_flight)
    assert set(statuses.tolist()) == {503}
    assert set(ns.tolist()) == {BASE[503]}


@pytest.mark.parametrize("grey_zone", [True, False])
@pytest.mark.parametrize("in_flight", range(11, 20))
def test_between_them_position_is_the_share_of_the_tipping_tier(in_flight: int, grey_zone: bool) -> None:
    """A binomial band at every load of the grey zone, which may be without penalties."""
    behavior = load_based() if grey_zone else without_grey_zone()
    statuses, _ = draws(Sampler(behavior), 50_000, in_flight)
    hits = int((statuses == 503).sum())
    assert stats.binomtest(hits, 50_000, (in_flight - HEALTHY) / (TIPPING - HEALTHY)).pvalue > RARE


@pytest.mark.parametrize("in_flight", range(11, 18))
def test_the_base_penalty_grows_with_the_position(in_flight: int) -> None:
    """Below the spike threshold it is penalty_base times the position."""
    assert same(Endpoint().penalty(in_flight, 0), base(in_flight))


def test_without_a_grey_zone_nothing_is_added() -> None:
    """The tiers are mixed all the same."""
    statuses, ns = draws(Sampler(without_grey_zone()), 1_000, 15)
    assert set(zip(statuses.tolist(), ns.tolist(), strict=True)) == {(200, BASE[200]), (503, BASE[503])}


@pytest.mark.parametrize(("in_flight", "spike"), [(17, False), (18, True), (19, True)])
def test_the_spike_begins_exactly_at_its_threshold(in_flight: int, spike: bool) -> None:
    """Position 0.8 is a spike, 0.7 is none."""
    assert same(Endpoint().penalty(in_flight, 0), base(in_flight) * (MULTIPLIER if spike else 1))


def test_a_spike_lasts_as_long_as_the_load() -> None:
    """The multiplier stays, however long the load does, and scales with the position."""
    endpoint = Endpoint()
    for at in (0, 1, 2, 3, 1_000, 10_000):
        assert same(endpoint.penalty(18, at), base(18) * MULTIPLIER)
        assert same(endpoint.penalty(19, at), base(19) * MULTIPLIER)


@pytest.mark.parametrize(
    "elapsed", [0, 1e-9, 0.001, 0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 1.9, 1.999, 1.999999999]
)
@pytest.mark.parametrize("in_flight", [11, 15, 17])
def test_recovery_follows_the_formula(in_flight: int, elapsed: float) -> None:
    """To a nanosecond, from the first observed drop on, at a load of its own."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 99)
    assert same(endpoint.penalty(in_flight, 100), recovering(in_flight, 0))
    assert same(endpoint.penalty(in_flight, 100 + elapsed), recovering(in_flight, elapsed))


def test_recovery_ends_with_its_duration() -> None:
    """At exactly spike_penalty_duration the base penalty is back, and stays."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    endpoint.penalty(15, 10)
    assert same(endpoint.penalty(15, 11.999999999), recovering(15, 1.999999999))
    assert same(endpoint.penalty(15, 12), base(15))
    assert same(endpoint.penalty(15, 10.5), base(15))


def test_recovery_counts_from_the_drop_that_was_observed() -> None:
    """Time without requests after the spike is no recovery: nobody saw the load drop."""
    endpoint = Endpoint()
    endpoint.penalty(19, 0)
    assert same(endpoint.penalty(12, 500), recovering(12, 0))
    assert same(endpoint.penalty(12, 501), recovering(12, 1))


def test_a_renewed_spike_resets_recovery() -> None:
    """Back above the threshold the whole multiplier is there, and the next drop starts a new recovery."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    endpoint.penalty(15, 1)
    assert same(endpoint.penalty(15, 2.5), recovering(15, 1.5))
    assert same(endpoint.penalty(19, 2.6), base(19) * MULTIPLIER)
    assert same(endpoint.penalty(15, 2.8), recovering(15, 0))
    assert same(endpoint.penalty(15, 4.3), recovering(15, 1.5))
    assert same(endpoint.penalty(15, 4.8), base(15))


def test_the_tipping_tier_sustains_a_spike() -> None:
    """While the load is beyond the tipping point no recovery begins."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    for at in (1, 5, 50):
        assert endpoint.penalty(25, at) == 0
    assert same(endpoint.penalty(15, 60), recovering(15, 0))


def test_the_tipping_tier_ends_a_recovery() -> None:
    """A load beyond the tipping point is a spike, too."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    endpoint.penalty(15, 1)
    endpoint.penalty(TIPPING, 2)
    assert same(endpoint.penalty(15, 2.5), recovering(15, 0))


def test_the_tipping_tier_begins_a_spike() -> None:
    """Also when the load jumped over the grey zone."""
    endpoint = Endpoint()
    endpoint.penalty(TIPPING, 0)
    assert same(endpoint.penalty(14, 1), recovering(14, 0))


def test_the_healthy_tier_begins_recovery() -> None:
    """A drop all the way down is the first observed drop."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    assert endpoint.penalty(HEALTHY, 1) == 0
    assert same(endpoint.penalty(15, 2.5), recovering(15, 1.5))


def test_the_healthy_tier_advances_recovery() -> None:
    """A recovery that the healthy tier saw end is over."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 0)
    endpoint.penalty(15, 1)
    assert endpoint.penalty(3, 3) == 0
    assert same(endpoint.penalty(15, 2), base(15))


def test_a_recovery_without_duration_is_over_at_once() -> None:
    """With spike_penalty_duration 0 the base penalty is back at the drop."""
    endpoint = Endpoint(spike_penalty_duration="0s")
    assert same(endpoint.penalty(SPIKE_AT, 0), base(SPIKE_AT) * MULTIPLIER)
    assert same(endpoint.penalty(15, 0), base(15))
    assert same(endpoint.penalty(15, 1), base(15))


def test_a_clock_that_was_read_earlier_is_no_time_travel() -> None:
    """A worker that read its clock before the recovery began sees its first moment."""
    endpoint = Endpoint()
    endpoint.penalty(SPIKE_AT, 10)
    endpoint.penalty(15, 20)
    assert same(endpoint.penalty(15, 19), recovering(15, 0))


def test_a_multiplier_below_one_lightens_the_spike() -> None:
    """It is a factor like any other."""
    assert same(Endpoint(spike_penalty_multiplier=0.25).penalty(18, 0), base(18) / 4)


def test_the_largest_penalty_does_not_overflow() -> None:
    """What exceeds 2^63 - 1 ns is 2^63 - 1 ns."""
    sampler = Sampler(load_based(penalty_base=f"{2**63 - 1}ns", spike_penalty_multiplier=1e300))
    _, ns = draws(sampler, 1, 19)
    assert ns.tolist() == [2**63 - 1]


def test_huge_thresholds() -> None:
    """Loads are exact up to 2^53."""
    behavior = load_based()
    assert behavior.load_based is not None
    tiers = {
        "healthy": behavior.load_based.healthy.model_copy(update={"threshold_in_flight": 2**53 - 2}),
        "tipping_point": behavior.load_based.tipping_point.model_copy(update={"threshold_in_flight": 2**53}),
    }
    behavior = behavior.model_copy(update={"load_based": behavior.load_based.model_copy(update=tiers)})
    sampler = Sampler(behavior)
    assert set(draws(sampler, 100, 2**53 - 2)[0].tolist()) == {200}
    assert set(draws(sampler, 100, 2**53)[0].tolist()) == {503}
    statuses, ns = draws(Sampler(behavior), 10_000, 2**53 - 1)
    assert stats.binomtest(int((statuses == 503).sum()), 10_000, 0.5).pvalue > RARE
    assert set((ns - np.where(statuses == 200, BASE[200], BASE[503])).tolist()) == {PENALTY // 2}


def test_threads_agree_on_the_spike() -> None:
    """Four threads that all observe a spike pay the same, and so they do in the recovery they begin."""
    sampler = Sampler(load_based())
    whole = int(base(18) * MULTIPLIER)
    spiking = np.concatenate(together(sampler, [20_000] * 4, 18))
    assert set(spiking.tolist()) == {BASE[200] + whole, BASE[503] + whole}
    dropped = int(recovering(15, 0))
    recovery = np.concatenate(together(sampler, [20_000] * 4, 15))
    assert set(recovery.tolist()) == {BASE[200] + dropped, BASE[503] + dropped}
