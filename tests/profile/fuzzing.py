"""A coverage-guided fuzzer: inputs that reach new lines of the code are kept and mutated further."""

import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from time import process_time
from types import FrameType
from typing import Any

from tests.profile.costs import seconds

LONGEST_INPUT = 1_000
_SLOWEST = 20
_WELL_KNOWN = 3
_TRACED_ANYWAY = 0.01


class Fuzzer:
    """Feeds mutations of `seeds` to `target`.

    Args:
        target: What must not fail, whatever bytes it gets. What it returns stands for the outcome: since
            tracing is slow, an outcome that is well known is traced only now and then.
        seeds: Inputs to begin with; all that are valid reach deepest.
        tokens: What mutations insert, besides random bytes and pieces of other inputs.
        traced: A part of the file names whose lines count as coverage.
        seed: Of the random numbers.
        most: Seconds of CPU time that an input may take.
    """

    def __init__(
        self,
        target: Callable[[bytes], object],
        seeds: Sequence[bytes],
        tokens: Sequence[bytes],
        traced: str,
        seed: int,
        *,
        most: float,
    ) -> None:
        self._target = target
        self._tokens = tokens
        self._traced = traced
        self._random = random.Random(seed)
        self._lines: set[tuple[str, int]] = set()
        self._outcomes: Counter[object] = Counter()
        self._most = most
        self._slowest: list[tuple[float, bytes]] = []
        self.corpus: list[bytes] = []
        for each in seeds:
            self._try(each)

    @property
    def coverage(self) -> int:
        """How many lines were reached."""
        return len(self._lines)

    @property
    def slowest(self) -> list[bytes]:
        """The inputs that took longest."""
        return [data for _, data in self._slowest]

    def run(self, inputs: int) -> None:
        """Try so many inputs."""
        for _ in range(inputs):
            self._try(self._mutated())

    def _try(self, data: bytes) -> None:
        started = process_time()
        try:
            outcome = self._target(data)
            self._note_time(data, process_time() - started)
        except BaseException as error:
            error.add_note(f"the input was {data!r}")
            raise
        self._outcomes[outcome] += 1
        if self._outcomes[outcome] > _WELL_KNOWN and self._random.random() > _TRACED_ANYWAY:
            return
        known = len(self._lines)
        previous = sys.gettrace()
        sys.settrace(self._enter)
        try:
            self._target(data)
        finally:
            sys.settrace(previous)
        if len(self._lines) > known or not self.corpus:
            self.corpus.append(data)

    def _note_time(self, data: bytes, taken: float) -> None:
        if taken > self._most:  # which a collection of garbage, or another process, may have caused
            taken = seconds(self._target, data)
            assert taken <= self._most, f"{taken:.3f} s of CPU time for {len(data)} bytes"
        heapq.heappush(self._slowest, (taken, data))
        if len(self._slowest) > _SLOWEST:
            heapq.heappop(self._slowest)

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        return self._line if self._traced in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any]:
        self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def _mutated(self) -> bytes:
        data = bytearray(self._random.choice(self.corpus))
        for _ in range(self._random.choice((1, 1, 1, 1, 2, 4))):
            self._random.choice(
                (self._insert_token, self._replace_token, self._flip, self._cut, self._repeat, self._splice)
            )(data)
        return bytes(data[:LONGEST_INPUT])

    def _place(self, data: bytearray) -> int:
        return self._random.randint(0, len(data))

    def _span(self, data: bytearray) -> slice:
        start = self._place(data)
        return slice(start, start + self._random.choice((1, 2, 4, 16, 64)))

    def _insert_token(self, data: bytearray) -> None:
        at = self._place(data)
        data[at:at] = self._random.choice(self._tokens)

    def _replace_token(self, data: bytearray) -> None:
        token, other = self._random.sample(self._tokens, 2)
        at = data.find(token, self._place(data))
        if at >= 0:
            data[at : at + len(token)] = other

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._random.randrange(len(data))] = self._random.randrange(
                self._random.choice((128, 128, 128, 256))
            )

    def _cut(self, data: bytearray) -> None:
        del data[self._span(data)]

    def _repeat(self, data: bytearray) -> None:
        span = self._span(data)
        data[span.start : span.start] = data[span] * self._random.choice((1, 2, 30))

    def _splice(self, data: bytearray) -> None:
        other = self._random.choice(self.corpus)
        at = self._random.randint(0, len(other))
        data[self._span(data)] = other[at : at + self._random.choice((4, 16, 64, 256))]
