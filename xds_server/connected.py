"""A node that is connected: one Envoy, by however many streams."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from brownout.ports import Acknowledged, NodeStatus, ResourceType
from xds_server.standing import Standpoint


class Session(Standpoint, Protocol):
    """A stream, as the registry sees it."""

    aggregated: bool

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on when the node may stand otherwise than before."""

    def status(self) -> NodeStatus:
        """Return the node's state."""

    @property
    def fleet(self) -> str:
        """Its fleet."""


class ConnectedNode:
    """The streams of one Envoy: the aggregated one, or those by which its listeners and its clusters ask.

    Each of them has to have everything, and what any of them rejects, the node rejects.
    """

    def __init__(self) -> None:
        self._sessions: list[Session] = []

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions)

    def add(self, session: Session) -> None:
        """Add a stream."""
        self._sessions.append(session)

    def remove(self, session: Session) -> None:
        """Remove a stream that has ended."""
        self._sessions.remove(session)

    @property
    def current(self) -> bool:
        """Whether all its streams have acknowledged all that they should have."""
        return all(each.current for each in self._sessions)

    @property
    def rejecting(self) -> bool:
        """Whether a NACK is outstanding."""
        return any(each.rejecting for each in self._sessions)

    def status(self) -> NodeStatus:
        """Return the node's state: of what several streams have acknowledged, the oldest."""
        first, *others = (each.status() for each in self._sessions)
        if not others:
            return first
        acknowledged: dict[ResourceType, Acknowledged] = {}
        for status in (first, *others):
            for kind, found in status.acknowledged.items():
                known = acknowledged.get(kind)
                if known is None or (found.revision, found.at) < (known.revision, known.at):
                    acknowledged[kind] = found
        rejected = {kind: found for each in (first, *others) for kind, found in each.rejected.items()}
        return replace(first, acknowledged=acknowledged, rejected=rejected)
