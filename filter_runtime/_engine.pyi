# The compiled engine: _engine.pyx and engine/. What a name does is said there.

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from brownout.profile import Behavior

def duration_text(ns: int) -> str: ...
def fill_permutation(size: int, key: int, first: int, out: NDArray[np.uint64]) -> None: ...
def measure(
    sampler: Sampler,
    what: Literal["empty", "random", "floor", "status", "latency", "draw", "in-flight"],
    rounds: int,
    isolated: bool,
    in_flight: int = 0,
) -> tuple[int, int, int]: ...
def registered() -> tuple[int, int, int]: ...
def hooks(
    load_filter_config: Callable[[bytes], object], load_route_config: Callable[[bytes], object]
) -> object: ...

class Sampler:
    def __init__(self, behavior: Behavior, endpoint: str | None = None) -> None: ...
    @property
    def size(self) -> tuple[int, int]: ...
    def shares(self, other: Sampler) -> tuple[bool, bool]: ...
    def reply(self, entry: int) -> tuple[bytes, list[tuple[bytes, bytes]], int]: ...
    def fill_quantiles(self, entry: int, quantiles: NDArray[np.float64], ns: NDArray[np.float64]) -> None: ...
    def fill(
        self,
        statuses: NDArray[np.int32],
        ns: NDArray[np.int64],
        in_flight: NDArray[np.uint64],
        clock: NDArray[np.int64],
    ) -> None: ...
