"""The stateless mode: the latency at a uniformly random quantile."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response

N = 100_000
RARE = 1e-9
QUANTILES = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
MILLISECONDS = [0.0, 20.0, 45.0, 120.0, 800.0, 1_600.0]


def distribution(milliseconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.interp(milliseconds, MILLISECONDS, QUANTILES)


@pytest.fixture(scope="module")
def milliseconds() -> NDArray[np.float64]:
    entry = response(resolution=7, p50="20ms", p90="45ms", p99="120ms", p99_9="800ms")
    return draws(Sampler(profile(entry, probability_distribution="stateless")), N)[1] / 1e6


def test_the_distribution_is_the_configured_one(milliseconds: NDArray[np.float64]) -> None:
    """Kolmogorov-Smirnov over 100,000 draws."""
    assert stats.kstest(milliseconds, distribution).pvalue > RARE


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9, 0.99, 0.999])
def test_a_quantile_lies_in_its_band(milliseconds: NDArray[np.float64], quantile: float) -> None:
    """As many draws as should are below the configured value: a binomial band."""
    value = np.interp(quantile, QUANTILES, MILLISECONDS)
    below = int((milliseconds <= value).sum())
    assert stats.binomtest(below, N, quantile).pvalue > RARE


def test_successive_draws_are_independent(milliseconds: NDArray[np.float64]) -> None:
    """Pairs of successive draws fill the square evenly."""
    u = distribution(milliseconds)
    counts, _, _ = np.histogram2d(u[:-1:2], u[1::2], bins=20, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > RARE


def test_resolution_means_nothing_here(milliseconds: NDArray[np.float64]) -> None:
    """With a resolution of 7 there are still as many latencies as draws."""
    assert len(np.unique(milliseconds)) > 0.99 * N
