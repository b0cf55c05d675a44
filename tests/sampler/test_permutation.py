"""The keyed permutation that orders a cycle."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from filter_runtime._engine import Sampler, fill_permutation
from tests.sampler.samples import draws, ladder, samples

RARE = 1e-9
keys = st.integers(0, 2**64 - 1)


def permuted(size: int, key: int, first: int = 0, count: int | None = None) -> NDArray[np.uint64]:
    out = np.empty(size if count is None else count, np.uint64)
    fill_permutation(size, key, first, out)
    return out


@settings(deadline=None)
@given(st.integers(1, 5_000), keys)
def test_it_is_a_permutation(size: int, key: int) -> None:
    """Every sample below n comes exactly once, whatever n and the key."""
    assert np.array_equal(np.sort(permuted(size, key)), np.arange(size, dtype=np.uint64))


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 1, 1_000_000])
def test_a_large_one_is_a_permutation(size: int) -> None:
    """Also around a power of two, where the walk is shortest and longest."""
    assert np.array_equal(np.sort(permuted(size, 12345)), np.arange(size, dtype=np.uint64))


@settings(deadline=None)
@given(st.integers(2**39, 2**40), keys)
def test_a_huge_one_stays_in_range(size: int, key: int) -> None:
    """A thousand samples of up to 2^40 are different, below n, and spread."""
    found = permuted(size, key, size - 1_000, 1_000)
    assert len(np.unique(found)) == 1_000
    assert found.max() < size
    assert stats.kstest(found / size, "uniform").pvalue > 1e-12


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_all_orders_of_a_small_cycle_come_equally_often(size: int) -> None:
    """Chi-square over all n! orders, with a key as each cycle has it."""
    cycles = 200 * len(list(permutations(range(size)))) + 20_000
    found = samples(draws(Sampler(ladder(size)), cycles * size)[1]).reshape(cycles, size)
    _, counts = np.unique(found @ (size ** np.arange(size)), return_counts=True)
    assert len(counts) == len(list(permutations(range(size))))
    assert stats.chisquare(counts).pvalue > RARE


@pytest.mark.parametrize("size", [7, 10, 16, 31, 64, 100])
def test_pairs_of_neighbours_come_equally_often(size: int) -> None:
    """Every sample follows every other one equally often, and comes at every place equally often."""
    cycles = 2_000_000 // size
    found = samples(draws(Sampler(ladder(size)), cycles * size)[1]).reshape(cycles, size)
    places = np.bincount((found * size + np.arange(size)).ravel(), minlength=size * size)
    assert stats.chi2.sf(((places - cycles / size) ** 2 / (cycles / size)).sum(), (size - 1) ** 2) > RARE
    pairs = np.bincount((found[:, :-1] * size + found[:, 1:]).ravel(), minlength=size * size)
    pairs = pairs.reshape(size, size)[~np.eye(size, dtype=bool)]
    assert stats.chisquare(pairs).pvalue > RARE


@pytest.mark.parametrize("size", [1_000, 1_024, 65_536, 1_000_000, 2**40])
def test_a_large_cycle_looks_shuffled(size: int) -> None:
    """Gaps between neighbours, and the same place in neighbouring cycles, are spread evenly."""
    count = min(size, 100_000)
    one, other = (permuted(size, key, 0, count).astype(np.int64) for key in (987654321, 987654322))
    gaps = np.diff(one) % size
    assert stats.chisquare(np.histogram(gaps, bins=50, range=(0, size))[0]).pvalue > RARE
    together, _, _ = np.histogram2d(one, other, bins=10, range=[[0, size], [0, size]])
    assert stats.chisquare(together.ravel()).pvalue > RARE


@pytest.mark.parametrize(("size", "first", "count"), [(0, 0, 0), (10, 5, 6), (2**62 + 1, 0, 1)])
def test_what_is_out_of_range_is_refused(size: int, first: int, count: int) -> None:
    """Neither an empty cycle nor an index beyond it."""
    with pytest.raises(ValueError, match="expected a size from 1"):
        fill_permutation(size, 1, first, np.empty(count, np.uint64))
