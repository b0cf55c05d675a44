"""The nodes: those that are connected, and for a while those that were."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal, Protocol

from brownout.ports import Convergence, NodeEvent, NodeStatus
from xds_server.absent import Absent
from xds_server.hub import Hub
from xds_server.options import Options
from xds_server.standing import Standing, Standpoint

_log = logging.getLogger(__name__)

EventKind = Literal["connected", "disconnected", "refused", "acknowledged", "rejected", "forgotten"]

_BACKLOG = 4096
"""Events that a reader may be behind before it misses the oldest."""


class Session(Standpoint, Protocol):
    """A stream, as the registry sees it."""

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on when the node may stand otherwise than before."""

    def status(self) -> NodeStatus:
        """Return the node's state."""

    @property
    def fleet(self) -> str:
        """Its fleet."""


_NOBODY: Final[Standing[Session]] = Standing()


class Registry:
    """Implements `brownout.ports.FleetStatus`. A node with two streams is listed twice: it is two Envoys."""

    def __init__(
        self,
        hub: Hub,
        options: Options,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._hub = hub
        self._options = options
        self._now = now
        self._standings: dict[str, Standing[Session]] = {}
        self._departed = Absent()
        self._refused = Absent()
        self._readers: set[asyncio.Queue[NodeEvent]] = set()

    # -- brownout.ports.FleetStatus

    def nodes(self, fleet: str | None = None) -> list[NodeStatus]:
        """Return the nodes of one fleet or of all, by fleet and id; those that left come last."""
        self._forget()
        fleets = self._standings if fleet is None else [fleet]
        found = [each.status() for name in fleets for each in self._standings.get(name, ())]
        found += [*self._departed.listed(fleet), *self._refused.listed(fleet)]
        return sorted(found, key=lambda each: (each.fleet, not each.connected, each.id, each.since))

    def converged(self, fleet: str) -> Convergence:
        """Return how far `fleet` is."""
        standing = self._standings.get(fleet, _NOBODY)
        return Convergence(
            revision=self._hub.revision,
            nodes=len(standing),
            current=standing.current,
            rejecting=standing.rejecting,
        )

    async def events(self) -> AsyncIterator[NodeEvent]:
        """Yield what happens from now on; a reader that falls behind misses the oldest."""
        queue: asyncio.Queue[NodeEvent] = asyncio.Queue(_BACKLOG)
        self._readers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._readers.discard(queue)

    # -- what the streams tell

    def sessions(self, fleet: str) -> list[Session]:
        """Return the streams of a fleet's nodes."""
        return list(self._standings.get(fleet, ()))

    def enter(self, session: Session) -> None:
        """Note a new stream."""
        standing = self._standings.setdefault(session.fleet, Standing())
        standing.add(session)
        session.follow(partial(standing.changed, session))
        status = session.status()
        self._departed.drop(status)
        self._refused.drop(status)
        self.tell("connected", [session])

    def refuse(self, node: NodeStatus) -> None:
        """Note a node that is kept out. It tries again and again: only what is new is told and logged."""
        known = self._refused.find(node)
        if known is None or known.refused != node.refused:
            _log.warning("%s is kept out: %s", node.id, node.refused)
            self._departed.drop(node)
            self._refused.note(node, self._now())
            self._emit("refused", node)
        else:
            self._refused.note(known, self._now())
        self._forget()

    def leave(self, session: Session) -> None:
        """Note the end of a stream."""
        others = self._standings[session.fleet]
        others.remove(session)
        if not others:
            del self._standings[session.fleet]
        status = replace(session.status(), connected=False, since=self._now())
        if status.refused is not None:
            self.refuse(status)
            return
        if all(each.status().id != status.id for each in others):
            self._departed.note(status, self._now())
        self._forget()
        self._emit("disconnected", status)

    def tell(self, kind: EventKind, sessions: Iterable[Session]) -> None:
        """Tell the readers that something happened to nodes."""
        if self._readers:
            for session in sessions:
                self._emit(kind, session.status())

    def _emit(self, kind: EventKind, status: NodeStatus) -> None:
        for queue in self._readers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(NodeEvent(kind, status))

    def _forget(self) -> None:
        """Drop those of which there is no sign any more."""
        limit = self._now() - self._options.remember
        for absent in (self._departed, self._refused):
            for status in absent.forget(limit, self._options.remember_count):
                self._emit("forgotten", status)
