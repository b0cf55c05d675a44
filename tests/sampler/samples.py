"""Profiles and draws that several tests of the sampler use."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brownout.profile import Behavior, load_profile
from filter_runtime._engine import Sampler

STEP = 1_000
"""Nanoseconds between two samples of `ladder`."""


def profile(*responses: dict[str, Any], **fields: Any) -> Behavior:
    """Return a behaviour of the direct shape."""
    return load_profile({"responses": list(responses), **fields})


def response(status: int = 200, resolution: int = 10, **distribution: str) -> dict[str, Any]:
    """Return a response entry; percentiles are written like `p99_9="1s"`."""
    points = {key.replace("_", "."): value for key, value in distribution.items()} or {
        "p0": "0s",
        "p100": "1s",
    }
    return {"status": status, "resolution": resolution, "distribution": points}


def ladder(size: int, **fields: Any) -> Behavior:
    """Return a behaviour whose sample number k has the latency (k + 1/2) STEP."""
    return profile(response(resolution=size, p0="0s", p100=f"{size * STEP}ns"), **fields)


def draws(
    sampler: Sampler, n: int, in_flight: ArrayLike = 0, clock: ArrayLike = 0
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the statuses and the latencies in nanoseconds of `n` draws by one worker."""
    statuses, latencies = np.empty(n, np.int32), np.empty(n, np.int64)
    loads = np.atleast_1d(np.asarray(in_flight, np.uint64))
    sampler.fill(statuses, latencies, loads, np.atleast_1d(np.asarray(clock, np.int64)))
    return statuses, latencies


def together(sampler: Sampler, counts: Sequence[int], in_flight: int = 0) -> list[NDArray[np.int64]]:
    """Let as many threads as there are counts draw so often each, all at once; return their latencies."""
    ready = Barrier(len(counts))

    def work(count: int) -> NDArray[np.int64]:
        ready.wait()
        return draws(sampler, count, in_flight)[1]

    with ThreadPoolExecutor(len(counts)) as pool:
        return list(pool.map(work, counts))


def samples(latencies: ArrayLike) -> NDArray[np.int64]:
    """Return the sample numbers that latencies of a `ladder` stand for."""
    numbers, rest = np.divmod(np.asarray(latencies, np.int64), STEP)
    assert np.all(rest == STEP // 2)
    return numbers
