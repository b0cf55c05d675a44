"""One draw, in the compiled engine: status and latency of one request.

The floor is one random number and one interpolation in the same table. Each round waits for the end of the
one before, as it does in a request, and an empty loop's time is taken off; *back to back* lets the
processor overlap the rounds, which flatters whatever has no locked instruction in it. *Two threads* is what
a draw takes in each of two threads that draw at the same time. Every number is the least of many short runs.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any, Literal, get_args

from benchmarks.result import Result
from brownout.profile import Behavior, load_profile
from filter_runtime._engine import Sampler, measure

Loop = Literal["empty", "random", "floor", "status", "latency", "draw", "in-flight"]
Mode = Literal["stateful", "stateless"]

ROUNDS = 100_000
RUNS, SLOW_RUNS = 40, 400
HEALTHY, TIPPING = 10, 20
LOADS = {"healthy": 5, "grey": 13, "grey in a spike": 19, "tipping": 25}
KEYS = {"p50": "20ms", "p90": "45ms", "p99": "120ms", "p99.9": "800ms"}
RESOLUTIONS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
ENDPOINTS = (1, 5, 10, 20)
_TWO_THREADS: dict[Mode, float] = {"stateful": 1.2, "stateless": 1.9}
_fresh = count(1)


def run(*, slow: bool) -> Iterator[Result]:
    """Measure draws by one and by two threads, then construction."""
    runs = SLOW_RUNS if slow else RUNS
    for mode in get_args(Mode):
        yield from _draws(mode, runs)
    for mode in get_args(Mode):
        yield from _under_load(mode, runs)
    sampler = Sampler(_direct("stateless"))
    yield Result("two threads to one, nothing shared", _two_threads(sampler, "random", runs), "ratio")
    for mode, least in _TWO_THREADS.items():
        sampler = Sampler(_direct(mode))
        yield Result(
            f"{mode}, two threads to one", _two_threads(sampler, "draw", runs), "ratio", least, at_least=True
        )
    yield Result("in-flight counter, in and out", _alone(sampler, "in-flight", runs), "ns")
    yield from _construction()


def _draws(mode: Mode, runs: int) -> Iterator[Result]:
    sampler = Sampler(_direct(mode))
    floor = _alone(sampler, "floor", runs)
    yield Result(f"{mode}, floor", floor, "ns")
    for what in ("status", "latency"):
        yield Result(f"{mode}, {what} only", _alone(sampler, what, runs), "ns")
        yield Result(f"{mode}, {what} only, two threads", _at_once(sampler, what, runs), "ns")
    both = _alone(sampler, "draw", runs)
    yield Result(f"{mode}, draw", both, "ns")
    yield Result(f"{mode}, draw, two threads", _at_once(sampler, "draw", runs), "ns")
    yield Result(f"{mode}, draw to floor", both / floor, "ratio", 3)
    yield Result(f"{mode}, floor back to back", _back_to_back(sampler, "floor", runs), "ns")
    yield Result(f"{mode}, draw back to back", _back_to_back(sampler, "draw", runs), "ns")


def _under_load(mode: Mode, runs: int) -> Iterator[Result]:
    for grey_zone in (False, True):
        sampler = Sampler(_load_based(mode, grey_zone=grey_zone))
        floor = _alone(sampler, "floor", runs)
        for tier, in_flight in LOADS.items():
            if not grey_zone and tier == "grey in a spike":
                continue
            name = f"{mode}, {tier}" + (", with penalties" if grey_zone else "")
            drawn = _alone(sampler, "draw", runs, in_flight)
            yield Result(name, drawn, "ns")
            yield Result(f"{name}, two threads", _at_once(sampler, "draw", runs, in_flight), "ns")
            yield Result(f"{name} to floor", drawn / floor, "ratio", 6)


def _construction() -> Iterator[Result]:
    for resolution in RESOLUTIONS:
        milliseconds, kib = _build(1, resolution)
        yield Result(f"1 endpoint of resolution {resolution:,}, built", milliseconds, "ms")
        yield Result(f"1 endpoint of resolution {resolution:,}, memory", kib, "KiB")
    for endpoints in ENDPOINTS:
        milliseconds, kib = _build(endpoints, 1_000_000)
        last = endpoints == ENDPOINTS[-1]
        yield Result(
            f"{endpoints} endpoints of resolution 1,000,000, built", milliseconds, "ms", 5 if last else None
        )
        yield Result(
            f"{endpoints} endpoints of resolution 1,000,000, memory", kib, "KiB", 100 if last else None
        )


def _alone(sampler: Sampler, what: Loop, runs: int, in_flight: int = 0) -> float:
    empty = min(measure(sampler, "empty", ROUNDS, True)[2] for _ in range(runs))
    return (min(measure(sampler, what, ROUNDS, True, in_flight)[2] for _ in range(runs)) - empty) / ROUNDS


def _back_to_back(sampler: Sampler, what: Loop, runs: int) -> float:
    return min(measure(sampler, what, ROUNDS, False)[2] for _ in range(runs)) / ROUNDS


def _at_once(sampler: Sampler, what: Loop, runs: int, in_flight: int = 0) -> float:
    """Nanoseconds that a round takes in each of two threads, the empty loop's taken off."""
    empty = _wall(lambda rounds: measure(sampler, "empty", rounds, True), 2, runs)
    return 2 * (_wall(lambda rounds: measure(sampler, what, rounds, True, in_flight), 2, runs) - empty)


def _two_threads(sampler: Sampler, what: Loop, runs: int) -> float:
    """How many times as much two threads get done as one."""
    one, two = (
        _wall(lambda rounds: measure(sampler, what, rounds, False), threads, 5 * runs) for threads in (1, 2)
    )
    return one / two


def _wall(loop: Callable[[int], tuple[int, int, int]], threads: int, runs: int) -> float:
    """Nanoseconds from the first thread's start to the last one's end, divided by the rounds of all.

    It says something only if other processes leave each thread a processor of its own, at least for one run.
    """
    rounds = 4 * ROUNDS
    ready = Barrier(threads)

    def work(_: int) -> tuple[int, int, int]:
        ready.wait()
        return loop(rounds // threads)

    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(runs):
            started, ended, _cpu = zip(*pool.map(work, range(threads)), strict=True)
            best = min(best, max(ended) - min(started))
    return best / rounds


def _build(endpoints: int, resolution: int) -> tuple[float, float]:
    """Milliseconds and KiB of compiling that many new endpoints and making their states."""
    best = float("inf")
    for _ in range(20):
        behaviors = [_direct("stateful", resolution, f"{next(_fresh)}us") for _ in range(endpoints)]
        names = [f"endpoint {next(_fresh)}" for _ in range(endpoints)]
        started = time.perf_counter()
        samplers = [Sampler(behavior, name) for behavior, name in zip(behaviors, names, strict=True)]
        best = min(best, time.perf_counter() - started)
    behaviors = [_direct("stateful", resolution, f"{next(_fresh)}us") for _ in range(endpoints)]
    tracemalloc.start()
    samplers = [Sampler(behavior, f"endpoint {next(_fresh)}") for behavior in behaviors]
    in_python, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return best * 1e3, (in_python + sum(sum(sampler.size) for sampler in samplers)) / 1024


def _responses(resolution: int = 1_000_000, least: str = "0s") -> list[dict[str, Any]]:
    return [
        {"status": 200, "resolution": resolution, "distribution": {"p0": least} | KEYS},
        {"status": 503, "resolution": resolution // 10, "distribution": {"p50": "5ms", "p99": "10ms"}},
    ]


def _direct(mode: Mode, resolution: int = 1_000_000, least: str = "0s") -> Behavior:
    return load_profile({"responses": _responses(resolution, least), "probability_distribution": mode})


def _load_based(mode: Mode, *, grey_zone: bool) -> Behavior:
    load: dict[str, Any] = {
        "healthy": {"threshold_in_flight": HEALTHY, "responses": _responses()},
        "tipping_point": {"threshold_in_flight": TIPPING, "responses": _responses()[::-1]},
    }
    if grey_zone:
        load["grey_zone"] = {
            "penalty_base": "50ms",
            "spike_threshold": 0.8,
            "spike_penalty_duration": "2s",
            "spike_penalty_multiplier": 3,
            "recovery_rate": 0.5,
        }
    return load_profile({"load_based": load, "probability_distribution": mode})
