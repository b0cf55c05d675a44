"""Nodes without a stream, which are listed for a while."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from brownout.ports import NodeStatus


class Absent:
    """The states of such nodes, of each one: the newest, in the order of the last sign of them."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], tuple[NodeStatus, datetime]] = {}

    def note(self, node: NodeStatus, now: datetime) -> None:
        """List a node, or note another sign of it."""
        self.drop(node)
        self._nodes[node.fleet, node.id] = node, now

    def find(self, node: NodeStatus) -> NodeStatus | None:
        """Return what is listed of a node of the same fleet and id."""
        found = self._nodes.get((node.fleet, node.id))
        return None if found is None else found[0]

    def drop(self, node: NodeStatus) -> None:
        """List it no longer, if it was."""
        self._nodes.pop((node.fleet, node.id), None)

    def listed(self, fleet: str | None) -> Sequence[NodeStatus]:
        """Return the nodes of one fleet or of all."""
        return [each for each, _ in self._nodes.values() if fleet in (None, each.fleet)]

    def forget(self, before: datetime, count: int) -> Iterator[NodeStatus]:
        """Drop and yield those without a sign since `before`, and the oldest of more than `count`."""
        for node, last in list(self._nodes.values()):
            if last > before and len(self._nodes) <= count:
                return
            self.drop(node)
            yield node
