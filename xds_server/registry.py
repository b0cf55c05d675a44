"""The nodes: those that are connected, and for a while those that were."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal

from brownout.ports import Convergence, NodeEvent, NodeStatus
from xds_server.absent import Absent
from xds_server.connected import ConnectedNode, Session
from xds_server.hub import Hub
from xds_server.options import Options
from xds_server.standing import Standing

_log = logging.getLogger(__name__)

EventKind = Literal["connected", "disconnected", "refused", "acknowledged", "rejected", "forgotten"]

_BACKLOG = 4096
"""Events that a reader may be behind before it misses the oldest."""


_NOBODY: Final[Standing[ConnectedNode]] = Standing()


class Registry:
    """Implements `brownout.ports.FleetStatus`.

    A node with two aggregated streams is listed twice: it is two Envoys. An Envoy that does not aggregate has
    a stream for its listeners and another for its clusters: those of one id are one node.
    """

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
        self._standings: dict[str, Standing[ConnectedNode]] = {}
        self._nodes: dict[Session, ConnectedNode] = {}
        self._by_id: dict[tuple[str, str], ConnectedNode] = {}
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
        return [session for node in self._standings.get(fleet, ()) for session in node]

    def enter(self, session: Session) -> None:
        """Note a new stream."""
        status = session.status()
        self._departed.drop(status)
        self._refused.drop(status)
        standing = self._standings.setdefault(session.fleet, Standing())
        node = self._nodes[session] = self._node(session, status)
        node.add(session)
        session.follow(partial(standing.changed, node))
        if len(node) > 1:
            standing.changed(node)
            return
        standing.add(node)
        self.tell("connected", [session])

    def _node(self, session: Session, status: NodeStatus) -> ConnectedNode:
        if session.aggregated:
            return ConnectedNode()
        return self._by_id.setdefault((status.fleet, status.id), ConnectedNode())

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
        standing, node = self._standings[session.fleet], self._nodes.pop(session)
        status = replace(session.status(), connected=False, since=self._now())
        node.remove(session)
        if node:
            standing.changed(node)
        else:
            self._remove(session, status, node)
        if status.refused is not None:
            self.refuse(status)
            return
        if node:
            return
        if all(each.status().id != status.id for each in standing):
            self._departed.note(status, self._now())
        self._forget()
        self._emit("disconnected", status)

    def _remove(self, session: Session, status: NodeStatus, node: ConnectedNode) -> None:
        standing = self._standings[status.fleet]
        standing.remove(node)
        if not standing:
            del self._standings[status.fleet]
        if not session.aggregated:
            del self._by_id[status.fleet, status.id]

    def tell(self, kind: EventKind, sessions: Iterable[Session]) -> None:
        """Tell the readers that something happened to the nodes of these streams."""
        if self._readers:
            for node in dict.fromkeys(self._nodes[session] for session in sessions if session in self._nodes):
                self._emit(kind, node.status())

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
