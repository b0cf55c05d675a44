"""Draws without Envoy: what a profile would inject, from the very engine that Envoy runs."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brownout.profile import Behavior, load_profile
from filter_runtime import _engine

LONGEST_TIME = 100 * 365 * 24 * 3600
"""How long a simulation may take by its own clock, in seconds."""


def simulate(  # noqa: PLR0913 - a request's circumstances; all have defaults
    profile: Behavior | Mapping[str, object] | bytes | str,
    n: int,
    in_flight: ArrayLike = 0,
    *,
    seed: int | None = None,
    threads: int = 1,
    interval: float = 0.0,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Draw `n` times from a profile, as `n` requests to an endpoint that just got it would.

    Args:
        profile: a `Behavior`, or its YAML, JSON or parsed form.
        n: number of draws.
        in_flight: requests in flight that each draw observes: one number, or one for each draw.
        seed: reproducible draws; instead of the profile's own `seed`.
        threads: number of threads that share the draws, each with random numbers of its own, as Envoy's
            workers do. With more than one, only what belongs to a draw stays together; the order is theirs.
        interval: seconds between one draw and the next, for the recovery from a spike.

    Returns:
        The statuses, and the latencies in seconds.

    Raises:
        brownout.profile.ValidationFailed: the profile is invalid.
        ValueError, TypeError: another argument is out of range or of the wrong kind.
    """
    behavior = profile if isinstance(profile, Behavior) else load_profile(profile)
    if seed is not None:
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"expected a seed of 64 bits, from -2^63 to 2^63-1, found {seed}")
        behavior = behavior.model_copy(update={"seed": seed})
    if n < 0:
        raise ValueError(f"expected no fewer than 0 draws, found {n}")
    if threads < 1:
        raise ValueError(f"expected 1 thread or more, found {threads}")
    if not 0.0 <= interval * max(n, 1) <= LONGEST_TIME:
        raise ValueError(f"expected an interval from 0 to {LONGEST_TIME / max(n, 1):g} s, found {interval:g}")
    loads = _loads(in_flight, n)
    clock = (np.arange(n if interval else 1) * (interval * 1e9)).astype(np.int64)
    statuses = np.empty(n, np.int32)
    nanoseconds = np.empty(n, np.int64)
    sampler = _engine.Sampler(behavior)

    def draw(share: slice) -> None:
        sampler.fill(
            statuses[share],
            nanoseconds[share],
            loads if len(loads) == 1 else loads[share],
            clock if len(clock) == 1 else clock[share],
        )

    edges = np.linspace(0, n, threads + 1).astype(int).tolist()
    shares = [slice(first, last) for first, last in pairwise(edges)]
    if threads == 1:
        draw(shares[0])
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(draw, shares))
    return statuses, nanoseconds / 1e9


def _loads(in_flight: ArrayLike, n: int) -> NDArray[np.uint64]:
    loads = np.atleast_1d(np.asarray(in_flight))
    if loads.dtype.kind not in "iu" and loads.size:
        raise TypeError(f"expected whole numbers in flight, found {loads.dtype}")
    if np.shape(in_flight) not in {(), (n,)}:
        raise ValueError(f"expected one number in flight or {n} of them, found shape {np.shape(in_flight)}")
    if loads.size and loads.min() < 0:
        raise ValueError(f"expected no fewer than 0 in flight, found {loads.min()}")
    return np.ascontiguousarray(loads, np.uint64)
