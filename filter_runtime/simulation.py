"""Draws without Envoy: what a profile would inject, from the very engine that Envoy runs."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Real
from operator import index
from reprlib import repr as shortened

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
        seed = _whole("seed", seed)
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed: expected one of 64 bits, from -2^63 to 2^63-1, found {shortened(seed)}")
        behavior = behavior.model_copy(update={"seed": seed})
    n = _whole("n", n)
    if n < 0:
        raise ValueError(f"n: expected no fewer than 0 draws, found {n}")
    threads = _whole("threads", threads)
    if threads < 1:
        raise ValueError(f"threads: expected 1 or more, found {threads}")
    interval = _number("interval", interval)
    if not 0.0 <= interval * max(n, 1) <= LONGEST_TIME:
        raise ValueError(f"interval: expected 0 to {LONGEST_TIME / max(n, 1):g} s, found {interval:g}")
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
    try:
        loads = np.asarray(in_flight)
    except ValueError:  # lists of different lengths
        raise _mistyped("in_flight", "whole numbers of 64 bits", in_flight) from None
    if loads.dtype.kind not in "iu" and loads.size:
        raise _mistyped("in_flight", "whole numbers of 64 bits", in_flight)
    if loads.shape not in {(), (n,)}:
        raise ValueError(f"in_flight: expected one number, or {n} of them, found shape {loads.shape}")
    if loads.size and loads.min() < 0:
        raise ValueError(f"in_flight: expected no fewer than 0, found {loads.min()}")
    return np.ascontiguousarray(np.atleast_1d(loads), np.uint64)


def _whole(name: str, value: object) -> int:
    """Return a whole number of any kind, numpy's too; a truth value is none, though Python says so."""
    if isinstance(value, bool):
        raise _mistyped(name, "a whole number", value)
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _mistyped(name, "a whole number", value) from None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _mistyped(name, "a number of seconds", value)
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _mistyped(name: str, expected: str, value: object) -> TypeError:
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    return TypeError(f"{name}: expected {expected}, found {shortened(value)} ({kind})")
