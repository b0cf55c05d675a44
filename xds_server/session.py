"""A node on one stream: the protocol's state, and what is known of the node through it. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from brownout.domain import CertificateNames
from brownout.ports import Acknowledged, NodeStatus, Rejection
from xds_server.hub import Channel
from xds_server.node import Node
from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.protocol.state import TypeState, Verdict
from xds_server.protocol.stream import StreamState
from xds_server.snapshot import Snapshot
from xds_server.types import CDS, LDS, ORDER, RDS, TypeInfo


@dataclass(frozen=True, slots=True)
class Sent:
    """When a response was sent (seconds of a monotonic clock), and of which catalog revision."""

    at: float
    revision: int


class Stream(Protocol):
    """What carries a session."""

    def new_nonce(self) -> str:
        """Return a nonce that was never returned before."""

    def wake(self) -> None:
        """Note that something may be due."""

    def dismiss(self, why: str) -> None:
        """End it: its node is kept out."""


def _nobody_follows() -> None:
    pass


class Session:
    """One stream of one node.

    Attributes:
        node: Who it is.
        names: What its certificate says; None without one.
        snapshot: What it should have; the hub sets it.
        channel: Its fleet.
        aggregated: Whether it is the Envoy's only stream.
    """

    def __init__(  # noqa: PLR0913 - a stream has that many sides
        self,
        node: Node,
        names: CertificateNames | None,
        channel: Channel,
        stream: Stream,
        *,
        delta: bool,
        aggregated: bool = True,
    ) -> None:
        self.node = node
        self.names = names
        self.snapshot = Snapshot()
        self.channel = channel
        self.delta = delta
        self.aggregated = aggregated
        self._stream = stream
        self._changed: Callable[[], None] = _nobody_follows
        self._refused: str | None = None
        self._since = datetime.now(UTC)
        self._state = StreamState(stream.new_nonce, delta=delta)
        self._sent: dict[TypeInfo, Sent] = {}
        self._acknowledged: dict[TypeInfo, Acknowledged] = {}
        self._rejected: dict[TypeInfo, Rejection] = {}

    # -- the protocol

    def receive(self, data: bytes) -> tuple[TypeState | None, Verdict]:
        """Take a request in.

        Raises:
            WireError: It is none.
        """
        request = DeltaRequest.parse(data) if self.delta else SotwRequest.parse(data)
        return self.take(request)

    def take(self, request: SotwRequest | DeltaRequest) -> tuple[TypeState | None, Verdict]:
        """Take a parsed request in."""
        self._changed()
        state, verdict = self._state.receive(request)
        if state is not None and verdict is not Verdict.NONE:
            self._note(state, verdict)
        return state, verdict

    def poll(self, now: float) -> tuple[TypeInfo, bytes] | None:
        """Return the next response that is due, and its type; call again until None."""
        found = self._state.poll(self.snapshot, now)
        if found is None:
            return None
        state, data = found
        self._changed()
        self._sent[state.kind] = Sent(now, self.channel.revision)
        return state.kind, data

    @property
    def deadline(self) -> float | None:
        """When to poll again although nothing happened; None for never."""
        return self._state.deadline

    def sent(self, kind: TypeInfo) -> Sent | None:
        """Return when the last response of a type was sent."""
        return self._sent.get(kind)

    def _note(self, state: TypeState, verdict: Verdict) -> None:
        now = datetime.now(UTC)
        if verdict is Verdict.ACKED and state.acked is not None:
            revision = self._sent[state.kind].revision
            self._acknowledged[state.kind] = Acknowledged(state.acked.version, revision, now)
        elif verdict in (Verdict.NACKED, Verdict.REPEATED) and state.error is not None:
            known = self._rejected.get(state.kind)
            finding = known.finding if known is not None and verdict is Verdict.REPEATED else None
            self._rejected[state.kind] = Rejection(state.error, finding, now)

    def found(self, kind: TypeInfo, finding: str | None) -> None:
        """Note what our own check of a rejected response finds."""
        known = self._rejected.get(kind)
        if known is not None:
            self._rejected[kind] = replace(known, finding=finding)

    # -- the node

    def wake(self) -> None:
        """Note that `snapshot` has other content."""
        self._changed()
        self._stream.wake()

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on when the node may stand otherwise than before."""
        self._changed = changed

    def dismiss(self, why: str) -> None:
        """End the stream: its certificate is no longer one of the fleet's."""
        self._refused = why
        self._stream.dismiss(why)

    @property
    def fleet(self) -> str:
        """The node's fleet."""
        return self.node.fleet

    @property
    def rejecting(self) -> bool:
        """Whether a NACK is outstanding."""
        return any(each.error is not None for each in self._state.types.values())

    @property
    def current(self) -> bool:
        """Whether the node has acknowledged, and rejects, nothing of what it should have.

        An Envoy asks for listeners after its clusters, and for routes after its listeners: while it starts,
        what it has not asked for is missing.
        """
        types = self._state.types
        if len(self.snapshot[LDS]):
            for first, then in ((CDS, LDS), (LDS, RDS)):
                if types[first].subscribed and not types[then].subscribed:
                    return False
        return any(each.subscribed for each in types.values()) and self._state.settled(self.snapshot)

    def status(self) -> NodeStatus:
        """Return the node's state."""
        node, acknowledged, rejected = self.node, {}, {}
        for kind in ORDER:
            state = self._state.types[kind]
            if (accepted := self._acknowledged.get(kind)) is not None:
                if state.settled(self.snapshot[kind]):
                    accepted = replace(accepted, revision=self.channel.revision)
                acknowledged[kind.key] = accepted
            if state.error is not None and kind in self._rejected:
                rejected[kind.key] = self._rejected[kind]
        return NodeStatus(
            id=node.id,
            fleet=node.fleet,
            connected=True,
            since=self._since,
            version=node.version,
            locality=node.locality,
            metadata=node.metadata,
            schema_version=node.schema_version,
            acknowledged=acknowledged,
            rejected=rejected,
            refused=self._refused,
        )
