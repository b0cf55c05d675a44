"""Who gets what: the fleets' programs, and the streams that wait for them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from brownout.domain import ALL_FLEETS, CertificateNames, Fleet, Stored
from xds_server.admission import Admission
from xds_server.node import Node
from xds_server.program import NO_FLEET, Program, Target
from xds_server.snapshot import Snapshot


class Member(Protocol):
    """A stream, as the hub sees it."""

    node: Node
    names: CertificateNames | None
    snapshot: Snapshot

    def wake(self) -> None:
        """Note that `snapshot` has other content; must not block."""

    def dismiss(self, why: str) -> None:
        """End it: its certificate is no longer one of the fleet's."""


class Channel:
    """One fleet: its program, and the streams of its nodes.

    Attributes:
        name: The fleet's name.
        revision: Of the catalog that its members have, or are about to get.
        members: The streams.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.revision = 0
        self.members: set[Member] = set()
        self.program = NO_FLEET
        self.halted = False
        self._snapshots: dict[Target, Snapshot] = {}

    def snapshot(self, node: Node) -> Snapshot:
        """Return what `node` should have: one object for all nodes of one target."""
        target = self.program.target(node)
        found = self._snapshots.get(target)
        if found is None:
            found = self._snapshots[target] = self.program.snapshot(target, halted=self.halted)
        return found

    def update(self, program: Program, *, halted: bool) -> None:
        """Switch to another program or another halt, and wake the members for which that is a change."""
        if program is self.program and halted == self.halted:
            return
        self.program, self.halted = program, halted
        self._snapshots.clear()
        for member in self.members:
            before, member.snapshot = member.snapshot, self.snapshot(member.node)
            if not member.snapshot.same_as(before):
                member.wake()


class Hub:
    """All channels.

    Attributes:
        loaded: Whether there ever was a catalog: before, nothing may be served, least of all "nothing".
        revision: Of the newest catalog.
        admission: Who may join.
    """

    def __init__(self) -> None:
        self.loaded = False
        self.revision = 0
        self.halts: frozenset[str] = frozenset()
        self.admission = Admission()
        self._programs: Mapping[str, Program] = {}
        self._channels: dict[str, Channel] = {}

    def halted(self, fleet: str) -> bool:
        """Whether a fleet injects nothing."""
        return fleet in self.halts or ALL_FLEETS in self.halts

    def problems(self, fleet: str) -> tuple[str, ...]:
        """Return what of a fleet is left out."""
        return self._programs.get(fleet, NO_FLEET).problems

    def channel(self, fleet: str) -> Channel:
        """Return a fleet's channel, which may be of a fleet that does not exist (yet)."""
        found = self._channels.get(fleet)
        if found is None:
            found = self._channels[fleet] = Channel(fleet)
            self._refresh(found)
        return found

    def nodes(self, fleet: str) -> Iterable[Node]:
        """Return the nodes that have a stream."""
        channel = self._channels.get(fleet)
        return [] if channel is None else [member.node for member in list(channel.members)]

    def join(self, member: Member) -> None:
        """Add a stream to its fleet, and give it its snapshot."""
        channel = self.channel(member.node.fleet)
        member.snapshot = channel.snapshot(member.node)
        channel.members.add(member)

    def leave(self, member: Member) -> None:
        """Remove a stream."""
        channel = self._channels.get(member.node.fleet)
        if channel is not None:
            channel.members.discard(member)
            self._drop_if_unused(channel)

    def bind(self, fleets: Mapping[str, Stored[Fleet]]) -> None:
        """Let nobody in, at once, whom these fleets do not take, and dismiss those who are in."""
        for name in self.admission.update(fleets):
            channel = self._channels.get(name)
            for member in () if channel is None else channel.members:
                if (why := self.admission.refusal(name, member.names)) is not None:
                    member.dismiss(why)

    def halt(self, halts: frozenset[str]) -> None:
        """Switch halts, at once: nothing is compiled for that."""
        if halts != self.halts:
            self.halts = halts
            for channel in list(self._channels.values()):
                self._refresh(channel)

    def publish(self, programs: Mapping[str, Program], revision: int) -> Iterator[Channel]:
        """Switch to the programs of a catalog; yield the channels that were compiled anew."""
        self._programs = programs
        self.revision = revision
        self.loaded = True
        for channel in list(self._channels.values()):
            before = channel.program
            self._refresh(channel)
            if channel.program is not before:
                yield channel
            self._drop_if_unused(channel)

    def _refresh(self, channel: Channel) -> None:
        channel.revision = self.revision
        channel.update(self._programs.get(channel.name, NO_FLEET), halted=self.halted(channel.name))

    def _drop_if_unused(self, channel: Channel) -> None:
        if not channel.members:
            self._channels.pop(channel.name, None)
