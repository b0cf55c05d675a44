"""Resident memory stays where it is (not looked at under the sanitizers, which keep what is freed)."""

from pathlib import Path
from resource import getpagesize

import numpy as np

from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def test_memory_is_flat_over_draws() -> None:
    """Drawing allocates nothing, whatever the behaviour."""
    samplers = [
        Sampler(profile(response())),
        Sampler(profile(response(), probability_distribution="stateless", seed=4)),
    ]
    statuses, ns = np.empty(200_000, np.int32), np.empty(200_000, np.int64)
    zero = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    for sampler in samplers:
        sampler.fill(statuses, ns, *zero)
    before = resident_bytes()
    for _ in range(10):
        for sampler in samplers:
            sampler.fill(statuses, ns, *zero)
    assert resident_bytes() - before < 256 * 1024


def test_memory_is_flat_over_samplers() -> None:
    """What a state and a table took comes back with their last reference."""

    def make(i: int) -> None:
        Sampler(profile(response(200, 1_000 + i), response(503, 2_000 + i)))

    for i in range(1_000):
        make(i)
    before = resident_bytes()
    for i in range(1_000, 6_000):
        make(i)
    assert resident_bytes() - before < 1024 * 1024


def test_memory_is_flat_over_pushes() -> None:
    """Ever another behaviour at a few endpoints, as edits make them: what is kept is bounded."""

    def push(i: int) -> None:
        draws(Sampler(profile(response(200, 10_000 + i)), f"pushed {i % 7}"), 3)

    for i in range(2_500):
        push(i)
    before = resident_bytes()
    for i in range(2_500, 5_000):
        push(i)
    assert resident_bytes() - before < 2 * 1024 * 1024
