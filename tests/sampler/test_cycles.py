"""The stateful mode: every cycle serves each of its samples exactly once, whoever draws."""

import numpy as np
import pytest
from scipy import stats

from brownout.profile import Behavior
from filter_runtime._engine import Sampler
from tests.sampler.samples import STEP, draws, ladder, profile, response, samples, together

RARE = 1e-9
SIZES = [1, 2, 3, 7, 10, 63, 64, 65, 1_000, 4_096, 10_007]


@pytest.mark.parametrize("size", [*SIZES, 1_000_000])
def test_one_worker_serves_each_sample_once_a_cycle(size: int) -> None:
    """Ten cycles, each of them a permutation of all samples."""
    found = samples(draws(Sampler(ladder(size)), 10 * size)[1]).reshape(10, size)
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(size), (10, 1)))


@pytest.mark.parametrize("size", [*SIZES, 1_000_000])
def test_ten_cycles_of_four_threads(size: int) -> None:
    """After ten cycles' worth of draws by four unequal threads, each sample came exactly ten times."""
    total = 10 * size
    counts = [total // 2, total // 5, total // 7]
    found = np.concatenate(together(Sampler(ladder(size)), [*counts, total - sum(counts)]))
    assert np.array_equal(np.bincount(samples(found), minlength=size), np.full(size, 10))


@pytest.mark.parametrize("size", [3, 10, 1_000, 10_007])
def test_each_cycle_of_several_threads(size: int) -> None:
    """Ten times in a row, three threads that share one cycle's draws serve exactly that cycle."""
    sampler = Sampler(ladder(size))
    for _ in range(10):
        found = np.concatenate(together(sampler, [size // 3, size // 3, size - 2 * (size // 3)]))
        assert np.array_equal(np.sort(samples(found)), np.arange(size))


def test_an_unfinished_cycle_repeats_nothing() -> None:
    """Three cycles and a half by two threads: half of the samples came four times, the others three times."""
    found = np.concatenate(together(Sampler(ladder(5_000)), [9_000, 8_500]))
    counts = np.bincount(samples(found), minlength=5_000)
    assert sorted(set(counts.tolist())) == [3, 4]
    assert (counts == 4).sum() == 2_500


def test_entries_have_cycles_of_their_own() -> None:
    """With several statuses, each status's own draws go through its own samples."""
    small = response(503, 10, p0="0s", p100=f"{10 * STEP}ns")
    sampler = Sampler(profile(response(200, 90, p0="0s", p100=f"{90 * STEP}ns"), small))
    statuses, latencies = draws(sampler, 20_000)
    for status, size in ((200, 90), (503, 10)):
        found = samples(latencies[statuses == status])
        whole = len(found) // size
        assert np.all(np.sort(found[: whole * size].reshape(whole, size), axis=1) == np.arange(size))


def test_each_cycle_has_an_order_of_its_own() -> None:
    """Two hundred successive cycles are in different, uncorrelated orders."""
    size = 1_000
    cycles = samples(draws(Sampler(ladder(size)), 200 * size)[1]).reshape(200, size)
    assert len(np.unique(cycles, axis=0)) == 200
    assert stats.pearsonr(cycles[:-1].ravel(), cycles[1:].ravel()).pvalue > RARE
    assert stats.pearsonr(cycles.ravel()[:-1], cycles.ravel()[1:]).pvalue > RARE


def test_the_largest_resolution() -> None:
    """A cycle of 2^40 samples starts at once, and repeats none of a million."""
    size = 2**40
    behavior = profile(response(resolution=size, p0="0s", p100=f"{size * 1_000}ns"))
    found = np.concatenate(together(Sampler(behavior), [500_000, 500_000]))
    assert len(np.unique(found)) == 1_000_000
    assert stats.kstest(found / (size * 1_000), "uniform").pvalue > RARE


def test_a_cycle_has_the_configured_quantiles_exactly() -> None:
    """Of 1,000 samples, 500 are at most the median, 990 at most p99, and the highest is just below p100."""
    behavior = profile(response(resolution=1_000, p0="10ms", p50="20ms", p99="80ms", p100="100ms"))
    ms = draws(Sampler(behavior), 1_000)[1] / 1e6
    assert [(ms <= at).sum() for at in (10, 20, 80, 100)] == [0, 500, 990, 1_000]
    assert ms.max() == pytest.approx(100 - 20 / 10 / 2)


@pytest.mark.parametrize("seeded", [{}, {"seed": 7}], ids=["unseeded", "seeded"])
def test_memory_does_not_know_the_resolution(seeded: dict[str, int]) -> None:
    """Neither the table nor the state grows from 100 samples to 2^40."""

    def size(resolution: int) -> tuple[int, int]:
        return Sampler(ladder(resolution, **seeded)).size

    assert size(100) == size(1_000_000)
    assert Sampler(profile(response(resolution=2**40), **seeded)).size == size(100)


def test_twenty_endpoints_fit_in_100_kib() -> None:
    """Twenty different behaviours of a million samples, with their states."""

    def behavior(i: int) -> Behavior:
        keys = {"p50": f"{i + 1}ms", "p90": "40ms", "p99": "90ms", "p99_9": "1s"}
        return profile(response(200, 1_000_000, **keys), response(503, 1_000_000, p50="5ms", p99="10ms"))

    assert sum(sum(Sampler(behavior(i)).size) for i in range(20)) < 100 * 1024
