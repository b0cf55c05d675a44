"""One aggregated stream: five types, and what one of them has to wait for in another."""

from collections.abc import Callable
from typing import Final

from xds_server.protocol.delta import DeltaState
from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.protocol.sotw import SotwState
from xds_server.protocol.state import TypeState, Verdict
from xds_server.resource_set import EMPTY, NO_NAMES, ResourceSet
from xds_server.snapshot import Snapshot
from xds_server.types import BY_URL, CDS, ECDS, EDS, LDS, ORDER, RDS, TypeInfo

PATIENCE: Final = 3.0
"""Seconds for which routes wait until the client has the clusters that they need."""


class StreamState:
    """The protocol's state of one aggregated stream, without any I/O.

    Order and waiting follow "make before break":
    https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#eventual-consistency-considerations
    Clusters come first and routes last; a cluster that is gone stays until the client has acknowledged routes
    without it; routes to a cluster that is new wait until the client has it, but never longer than
    `PATIENCE`.
    """

    def __init__(self, new_nonce: Callable[[], str], *, delta: bool) -> None:
        self._new_nonce = new_nonce
        self.delta = delta
        self._waiting_since: float | None = None
        self.types: dict[TypeInfo, SotwState | DeltaState] = {
            kind: DeltaState(kind) if delta else SotwState(kind) for kind in ORDER
        }

    def receive(self, request: SotwRequest | DeltaRequest) -> tuple[TypeState | None, Verdict]:
        """Take a request in; of a type that we do not have, nothing is remembered."""
        kind = BY_URL.get(request.type_url)
        if kind is None:
            return None, Verdict.NONE
        match self.types[kind], request:
            case SotwState() as state, SotwRequest():
                return state, state.receive(request)
            case DeltaState() as state, DeltaRequest():
                return state, state.receive(request)
        raise TypeError(f"a {type(request).__name__} on a stream of the other variant")

    def settled(self, snapshot: Snapshot) -> bool:
        """Whether the client has acknowledged all of `snapshot` that it asks for, and rejects nothing."""
        return all(state.settled(snapshot[kind]) for kind, state in self.types.items())

    @property
    def deadline(self) -> float | None:
        """When routes stop waiting; None when they do not wait."""
        return None if self._waiting_since is None else self._waiting_since + PATIENCE

    def poll(self, snapshot: Snapshot, now: float) -> tuple[TypeState, bytes] | None:
        """Return the next response that is due; call again until None.

        Args:
            snapshot: What the client should have.
            now: Seconds of a monotonic clock.
        """
        hold = not (self.types[RDS].settled(snapshot[RDS]) and self.types[LDS].settled(snapshot[LDS]))
        clusters = self.types[CDS]
        before = clusters.sent
        if (response := clusters.poll(snapshot[CDS], self._new_nonce, hold_removals=hold)) is not None:
            self._clusters_sent(before, clusters.sent or EMPTY)
            return clusters, response
        # An Envoy stops asking for a cluster's endpoints when the cluster is gone: nothing to say then.
        if (sent := self._next(EDS, snapshot, hold_removals=hold or clusters.awaiting)) is not None:
            return sent
        if (sent := self._next(LDS, snapshot)) is not None:
            return sent
        if not self._routes_wait(snapshot, now) and (sent := self._next(RDS, snapshot)) is not None:
            return sent
        return self._next(ECDS, snapshot)

    def _next(
        self, kind: TypeInfo, snapshot: Snapshot, *, hold_removals: bool = False
    ) -> tuple[TypeState, bytes] | None:
        state = self.types[kind]
        response = state.poll(snapshot[kind], self._new_nonce, hold_removals=hold_removals)
        return None if response is None else (state, response)

    def _clusters_sent(self, before: ResourceSet | None, after: ResourceSet) -> None:
        """See to it that a changed cluster gets its endpoints again: it warms until they come.

        For a new cluster the client asks by itself.
        """
        if before is None:
            return
        endpoints = self.types[EDS]
        changed = after.changes_since(before).changed & before.names
        if isinstance(endpoints, DeltaState):
            endpoints.resend(changed)
        else:
            endpoints.owe(changed)

    def _routes_wait(self, snapshot: Snapshot, now: float) -> bool:
        if not self._clusters_missing(snapshot):
            self._waiting_since = None
            return False
        if self._waiting_since is None:
            self._waiting_since = now
        return now < self._waiting_since + PATIENCE

    def _clusters_missing(self, snapshot: Snapshot) -> bool:
        """Whether new routes are due that refer to a cluster on its way to the client.

        Only clusters in flight count, and endpoints that the client asked for: a client that rejects a
        cluster, or does not want its endpoints, gets its routes.
        """
        clusters, endpoints, routes = self.types[CDS], self.types[EDS], self.types[RDS]
        if not (clusters.awaiting or endpoints.awaiting) or routes.sent is None or routes.forced:
            return False
        if not routes.changes(routes.target(snapshot[RDS])):
            return False
        if clusters.awaiting:
            known = NO_NAMES if clusters.acked is None else clusters.acked.names
            if snapshot.routed - known:
                return True
        if not endpoints.awaiting:
            return False
        known = NO_NAMES if endpoints.acked is None else endpoints.acked.names
        return bool((snapshot.routed & snapshot[EDS].names) - known)
