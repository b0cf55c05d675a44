"""Seeded behaviours: the same draws whenever and wherever."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from brownout.profile import Behavior, load_profile
from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response

RARE = 1e-9
GOLDEN_STATEFUL = [30861678, 4111111, 9444444, 27233560, 18163265, 3000000]
GOLDEN_STATELESS = [44886849, 76967963, 45195238, 65123448, 26020308, 56606076]
MODES = ["stateful", "stateless"]


def seeded(mode: str, seed: int) -> Behavior:
    return profile(
        response(200, 90, p50="10ms", p99="90ms"),
        response(503, 10, p50="1ms"),
        probability_distribution=mode,
        seed=seed,
    )


def under_load(mode: str, seed: int) -> Behavior:
    tiers: dict[str, Any] = {
        "healthy": {"threshold_in_flight": 10, "responses": [response(200, 50)]},
        "tipping_point": {"threshold_in_flight": 20, "responses": [response(503, 70), response(504, 30)]},
    }
    return load_profile({"load_based": tiers, "probability_distribution": mode, "seed": seed})


def pairs(drawn: tuple[NDArray[np.int32], NDArray[np.int64]]) -> list[tuple[int, int]]:
    statuses, ns = drawn
    return list(zip(statuses.tolist(), ns.tolist(), strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 - 1, -(2**63)])
def test_one_worker_draws_the_same_sequence(mode: str, seed: int) -> None:
    """Two samplers with one seed draw the same, in the same order."""
    one, other = (pairs(draws(Sampler(seeded(mode, seed)), 5_000)) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stateful", GOLDEN_STATEFUL),
        ("stateless", GOLDEN_STATELESS),
    ],
)
def test_the_sequence_of_a_seed_stays(mode: str, expected: list[int]) -> None:
    """A version that draws differently for a seed would change what somebody has written down."""
    assert pairs(draws(Sampler(seeded(mode, 42)), 6)) == [(200, ns) for ns in expected]


@pytest.mark.parametrize("mode", MODES)
def test_several_workers_draw_the_same_multiset(mode: str) -> None:
    """Shared out among four threads, ten thousand draws are those of one worker, in some order."""
    alone = pairs(draws(Sampler(seeded(mode, 5)), 10_000))
    sampler = Sampler(seeded(mode, 5))
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda n: pairs(draws(sampler, n)), [1_000, 2_000, 3_000, 4_000])
        shared = [pair for part in parts for pair in part]
    assert sorted(shared) == sorted(alone)


@pytest.mark.parametrize("mode", MODES)
def test_the_grey_zone_is_reproducible(mode: str) -> None:
    """With the same loads the mix of the tiers is the same."""
    loads = np.tile([5, 12, 15, 19, 25], 1_000)
    one, other = (pairs(draws(Sampler(under_load(mode, 3)), 5_000, loads)) for _ in range(2))
    assert one == other
    assert {status for status, _ in one} == {200, 503, 504}


@pytest.mark.parametrize("mode", MODES)
def test_seeds_have_nothing_in_common(mode: str) -> None:
    """Also neighbouring ones: neither statuses nor latencies are correlated."""
    for seed in (0, 1, -1, 1_000):
        one, other = (draws(Sampler(seeded(mode, s)), 50_000) for s in (seed, seed + 1))
        assert stats.pearsonr(one[1], other[1]).pvalue > RARE
        assert stats.chi2_contingency(np.histogram2d(one[0], other[0], bins=2)[0]).pvalue > RARE


@pytest.mark.parametrize("mode", MODES)
def test_seeded_draws_are_as_random_as_others(mode: str) -> None:
    """Shares, distribution and independence hold for a seeded behaviour."""
    behavior = profile(
        response(200, 900_000, p0="0s", p100="1s"),
        response(503, 100_000, p0="0s", p100="1s"),
        probability_distribution=mode,
        seed=99,
    )
    statuses, ns = draws(Sampler(behavior), 100_000)
    u = ns / 1e9
    assert stats.binomtest(int((statuses == 503).sum()), 100_000, 0.1).pvalue > RARE
    assert stats.kstest(u, "uniform").pvalue > RARE
    counts, _, _ = np.histogram2d(u[:-1:2], u[1::2], bins=20, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > RARE
    assert stats.pearsonr(statuses == 503, u).pvalue > RARE


def test_a_seeded_cycle_is_still_a_cycle() -> None:
    """Each sample comes exactly once a cycle."""
    sampler = Sampler(profile(response(resolution=500, p0="0s", p100="500us"), seed=1))
    ns = draws(sampler, 5_000)[1].reshape(10, 500)
    assert np.all(np.sort(ns, axis=1) == np.arange(500, 500_500, 1_000))
    assert len(np.unique(ns, axis=0)) == 10
