"""What both variants of the protocol keep for one resource type of one stream."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from xds_server.protocol.requests import Request
from xds_server.resource_set import EMPTY, NO_NAMES, Changes, ResourceSet
from xds_server.types import TypeInfo

WILDCARD: Final = "*"


class Verdict(Enum):
    """What a request says about the response that it answers."""

    NONE = auto()
    """Nothing: it only asks."""
    ACKED = auto()
    NACKED = auto()
    REPEATED = auto()
    """It rejects once more what it has rejected already."""
    STALE = auto()
    """It answers a response that a newer one has replaced."""


class TypeState:
    """The protocol's state for one type, without any I/O: requests go in, the bytes of responses come out.

    Attributes:
        kind: The type.
        subscribed: Whether the client ever asked for this type.
        wildcard: Whether it asks for all resources, whatever their names.
        names: What it asks for by name.
        sent: What it has if it took every response; None before the first.
        acked: What it had at its last ACK; None before the first.
        awaiting: Whether a response is in flight: there is never more than one.
        nonce: Of the last response; empty before the first.
        forced: Names to send even though they have not changed.
        rejected: Names in responses that the client rejected, sent or removed, and that no accepted
            response has replaced.
        error: The text of the NACK that is outstanding; None when none is.
    """

    __slots__ = (
        "_done",
        "_in_flight",
        "acked",
        "awaiting",
        "error",
        "forced",
        "kind",
        "names",
        "nonce",
        "rejected",
        "sent",
        "subscribed",
        "wildcard",
    )

    def __init__(self, kind: TypeInfo) -> None:
        self.kind = kind
        self.subscribed = False
        self.wildcard = False
        self.names: frozenset[str] = NO_NAMES
        self.sent: ResourceSet | None = None
        self.acked: ResourceSet | None = None
        self.awaiting = False
        self.nonce = ""
        self.forced: frozenset[str] = NO_NAMES
        self.rejected: frozenset[str] = NO_NAMES
        self.error: str | None = None
        self._in_flight: frozenset[str] = NO_NAMES
        # What there was when nothing was due, and whether removals were held then: as long as no request
        # comes, that is so again. Most polls end here.
        self._done: tuple[ResourceSet, bool] | None = None

    # -- requests

    def _settle(self, request: Request) -> Verdict:
        """Take a request with the current nonce as what it is: ACK, NACK, or neither.

        A NACK is known by `error_detail`, never by comparing versions:
        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#ack-and-nack-semantics-summary
        """
        if not self.awaiting:
            if request.error is None or self.error is None:
                return Verdict.NONE
            self.error = request.error
            return Verdict.REPEATED
        self.awaiting = False
        if request.error is None:
            self.acked = self.sent
            self._accept(self.rejected - self._in_flight if self.rejected else NO_NAMES)
            self._in_flight = NO_NAMES
            return Verdict.ACKED
        self.error = request.error
        self.rejected |= self._in_flight
        self._in_flight = NO_NAMES
        return Verdict.NACKED

    def _accept(self, still_rejected: frozenset[str]) -> None:
        self.rejected = still_rejected
        if not still_rejected:
            self.error = None

    def _forget(self, kept: frozenset[str]) -> None:
        """Drop what the client no longer asks for: asked for again, it is sent again."""
        if self.sent is not None:
            self.sent = self.sent.select(kept)
        if self.rejected and not self.kind.full_state:
            self._accept(self.rejected & kept)

    # -- responses

    def target(self, available: ResourceSet) -> ResourceSet:
        """Return what the client should have of what there is."""
        return available if self.wildcard else available.select(self.names)

    def changes(self, target: ResourceSet) -> Changes:
        """Return in what `target` differs from what the client was sent."""
        return target.changes_since(EMPTY if self.sent is None else self.sent)

    def settled(self, available: ResourceSet) -> bool:
        """Whether the client has acknowledged what there is for it (or never asked for this type)."""
        if not self.subscribed:
            return True
        if self.awaiting or self.forced or self.error is not None:
            return False
        if (done := self._done) is not None and done[0] is available and not done[1]:
            return True
        return not self.changes(self.target(available))

    def _idle(self, available: ResourceSet, *, hold_removals: bool) -> bool:
        """Whether it is known that nothing is due."""
        if self.awaiting or not self.subscribed:
            return True
        done = self._done
        return done is not None and done[0] is available and done[1] is hold_removals

    def _due(self, target: ResourceSet, changes: Changes) -> frozenset[str]:
        """Return the names to send: changed, asked for, or rejected with something that changed now.

        A client rejects a response as a whole: what was right in it has to come once more, with the
        correction.
        """
        due = changes.changed | (self.forced & target.names if self.forced else NO_NAMES)
        if self.rejected and self.rejected & changes.changed:
            due |= self.rejected & target.names
        return due

    def _send(self, target: ResourceSet, names: frozenset[str], new_nonce: Callable[[], str]) -> None:
        self.sent = target
        self.forced = NO_NAMES
        self.awaiting = True
        self.nonce = new_nonce()
        self._in_flight = names
