"""Which status a draw has: weighted random by the resolutions, in both modes."""

import numpy as np
import pytest
from scipy import stats

from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response

RARE = 1e-9
"""A test that is right fails so often."""


@pytest.mark.parametrize("mode", ["stateful", "stateless"])
@pytest.mark.parametrize(
    "weights",
    [[900, 100], [1, 1, 1], [1, 2, 3, 4, 5, 6, 7], [1_000_000, 1], list(range(1, 17)), list(range(1, 41))],
    ids=lambda weights: f"{len(weights)} entries",
)
def test_shares_follow_the_weights(mode: str, weights: list[int]) -> None:
    """Chi-square over 200,000 draws, with few and with many entries."""
    entries = [response(200 + i, weight) for i, weight in enumerate(weights)]
    n = 200_000
    statuses, _ = draws(Sampler(profile(*entries, probability_distribution=mode)), n)
    counts = np.bincount(statuses - 200, minlength=len(weights))
    expected = np.array(weights) / sum(weights) * n
    seen = expected >= 5
    counts = np.append(counts[seen], counts[~seen].sum())
    expected = np.append(expected[seen], expected[~seen].sum())
    if expected[-1] == 0:
        counts, expected = counts[:-1], expected[:-1]
    assert stats.chisquare(counts, expected).pvalue > RARE


def test_the_largest_weights() -> None:
    """A thousand entries of the largest resolution: each comes as often as any other."""
    entries = [response(200 + i % 400, 2**40) for i in range(1_000)]
    statuses, _ = draws(Sampler(profile(*entries, probability_distribution="stateless")), 200_000)
    counts = np.bincount(statuses - 200, minlength=400)
    expected = np.where(np.arange(400) < 200, 3, 2) / 1_000 * 200_000
    assert stats.chisquare(counts, expected).pvalue > RARE


def test_a_weight_is_never_rounded_away() -> None:
    """Beside 2^40 a weight of 2^30 still has its share, one in 1,025."""
    sampler = Sampler(
        profile(response(200, 2**40), response(503, 2**30), probability_distribution="stateless")
    )
    statuses, _ = draws(sampler, 500_000)
    hits = int((statuses == 503).sum())
    assert stats.binomtest(hits, 500_000, 1 / 1025).pvalue > RARE


def test_statuses_do_not_take_turns() -> None:
    """The statuses of successive draws are independent, in the stateful mode too."""
    statuses, _ = draws(Sampler(profile(response(200, 60), response(503, 40))), 100_000)
    failed = statuses == 503
    table = np.zeros((2, 2))
    np.add.at(table, (failed[:-1].astype(int), failed[1:].astype(int)), 1)
    assert stats.chi2_contingency(table).pvalue > RARE
