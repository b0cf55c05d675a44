"""How a fleet stands: how many of its nodes have all, and how many reject something."""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class Standpoint(Protocol):
    """A stream, as far as it counts."""

    @property
    def current(self) -> bool:
        """Whether the node has acknowledged all that it should have."""

    @property
    def rejecting(self) -> bool:
        """Whether a NACK is outstanding."""


S = TypeVar("S", bound=Standpoint)


class Standing(Generic[S]):
    """The streams of a fleet's nodes. Only those that have changed are looked at again when somebody asks.

    A push to a thousand nodes brings a thousand ACKs, and whoever waits for it may ask after each.
    """

    def __init__(self) -> None:
        self._all: set[S] = set()
        self._changed: set[S] = set()
        self._current: set[S] = set()
        self._rejecting: set[S] = set()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[S]:
        return iter(self._all)

    def add(self, stream: S) -> None:
        """Count a new stream."""
        self._all.add(stream)
        self._changed.add(stream)

    def remove(self, stream: S) -> None:
        """Count it no longer."""
        for each in (self._all, self._changed, self._current, self._rejecting):
            each.discard(stream)

    def changed(self, stream: S) -> None:
        """Note that a stream may stand otherwise than before."""
        if stream in self._all:
            self._changed.add(stream)

    @property
    def current(self) -> int:
        """How many have all."""
        self._look()
        return len(self._current)

    @property
    def rejecting(self) -> int:
        """How many have a NACK outstanding."""
        self._look()
        return len(self._rejecting)

    def _look(self) -> None:
        for stream in self._changed:
            for holds, those in ((stream.current, self._current), (stream.rejecting, self._rejecting)):
                if holds:
                    those.add(stream)
                else:
                    those.discard(stream)
        self._changed.clear()
