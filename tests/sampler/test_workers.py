"""The random numbers of several workers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response, together

RARE = 1e-9


def test_draws_of_different_workers_are_not_correlated() -> None:
    """No pair of four concurrent workers, at no lag from -3 to 3."""
    n = 100_000
    sampler = Sampler(profile(response(p0="0s", p100="1000s"), probability_distribution="stateless"))
    quantiles = [ns / 1e12 for ns in together(sampler, [n] * 4)]
    for one, other in combinations(quantiles, 2):
        for lag in range(-3, 4):
            shifted = np.roll(other, lag)
            assert stats.pearsonr(one, shifted).pvalue > RARE
        counts, _, _ = np.histogram2d(one, other, bins=16, range=[[0, 1], [0, 1]])
        assert stats.chisquare(counts.ravel()).pvalue > RARE


@pytest.mark.parametrize("mode", ["stateful", "stateless"])
def test_workers_that_start_at_once_have_nothing_in_common(mode: str) -> None:
    """Two hundred samplers made and drawn from at the same moment: no first draw comes twice.

    A clock could not tell them apart; the seed is the kernel's entropy.
    """
    behavior = profile(response(resolution=2**40, p0="0s", p100="1000000s"), probability_distribution=mode)
    with ThreadPoolExecutor(8) as pool:
        firsts = list(pool.map(lambda _: int(draws(Sampler(behavior), 1)[1][0]), range(200)))
    assert len(set(firsts)) == 200


def test_states_of_one_behaviour_have_orders_of_their_own() -> None:
    """Two stateful samplers of one behaviour serve their samples in unrelated orders."""
    behavior = profile(response(resolution=10_000))
    one, other = (draws(Sampler(behavior), 10_000)[1] for _ in range(2))
    assert stats.pearsonr(one, other).pvalue > RARE
