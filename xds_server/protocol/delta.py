"""Incremental: requests add and remove names, responses hold what has changed and what is gone."""

from collections.abc import Callable, Mapping

from xds_server.protocol.requests import DeltaRequest
from xds_server.protocol.responses import delta_response, with_nonce
from xds_server.protocol.state import WILDCARD, TypeState, Verdict
from xds_server.resource_set import EMPTY, NO_NAMES, Resource, ResourceSet
from xds_server.types import TypeInfo


class DeltaState(TypeState):
    """One type of one incremental stream."""

    __slots__ = ("_answered",)

    def __init__(self, kind: TypeInfo) -> None:
        super().__init__(kind)
        self._answered = False

    def receive(self, request: DeltaRequest) -> Verdict:
        """Take a request in."""
        self._done = None
        if not self.subscribed:
            # The nonce of a first request is an older stream's.
            self.subscribed = True
            self._begin(request)
            return Verdict.NONE
        if not request.nonce:
            verdict = Verdict.NONE
        elif request.nonce == self.nonce:
            verdict = self._settle(request)
        else:
            verdict = Verdict.STALE
        # "the server must honor changes to the subscription state even if the nonce is stale"
        self._subscribe(request.subscribe)
        self._unsubscribe(request.unsubscribe)
        return verdict

    def _begin(self, request: DeltaRequest) -> None:
        """Take the first request: it may say what the client still has of an older stream."""
        subscribe = request.subscribe - request.unsubscribe if request.unsubscribe else request.subscribe
        legacy = self.kind.full_state and not request.subscribe and not request.unsubscribe
        self.wildcard = legacy or WILDCARD in subscribe
        self.names = subscribe - {WILDCARD} if self.wildcard else subscribe
        had = _phantoms(request.initial_versions)
        self.sent = had if self.wildcard else had.select(self.names)
        self.forced = (self.names - self.sent.names) or NO_NAMES

    def _subscribe(self, names: frozenset[str]) -> None:
        """Add names. All are answered, known to be there or not: the client may have forgotten them.

        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#subscribing-to-resources
        """
        if names:
            self.wildcard = self.wildcard or WILDCARD in names
            named = names - {WILDCARD} if WILDCARD in names else names
            # The Envoys of a fleet ask for the same names, and then share one object.
            self.names = self.names | named if self.names else named
            self.forced |= names

    def _unsubscribe(self, names: frozenset[str]) -> None:
        """Remove names; what was not subscribed is ignored.

        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#unsubscribing-from-resources
        """
        if not names:
            return
        named = names & self.names
        self.names -= named
        if WILDCARD in names:
            self.wildcard = False
        if self.wildcard:
            # The client cannot know whether "all" covers these: it is told, by the resource or by its
            # removal.
            self.forced = (self.forced - names) | named
        else:
            self.forced &= self.names
            self._forget(self.names)

    def resend(self, names: frozenset[str]) -> None:
        """Send `names` again, changed or not, as far as the client was sent them.

        A changed cluster warms until its endpoints arrive, and an incremental client does not ask for what
        it is subscribed to:
        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#resource-warming
        """
        if self.sent is not None:
            self.forced |= names & self.sent.names
            self._done = None

    def poll(
        self, available: ResourceSet, new_nonce: Callable[[], str], *, hold_removals: bool = False
    ) -> bytes | None:
        """Return the response that is due, given all that is `available`; None when none is.

        With `hold_removals`, what is gone stays for now.
        """
        if self._idle(available, hold_removals=hold_removals):
            return None
        had = EMPTY if self.sent is None else self.sent
        target = self.target(available)
        if hold_removals and (kept := target.retaining(had)) is not target:
            # What is kept from an older stream has no content here: it cannot be sent again.
            self.forced = frozenset(name for name in self.forced if name not in kept or kept[name].body)
            target = kept
        if WILDCARD in self.forced:
            self.forced = (self.forced - {WILDCARD}) | target.names
            self._answered = False
        changes = self.changes(target)
        due = self._due(target, changes)
        gone = changes.removed | (self.forced - target.names)
        if due or gone:
            gone |= self.rejected - target.names
        # A first subscription to everything is answered even when there is nothing: it ends the
        # initialisation.
        first = self.wildcard and not self._answered and not had and not target
        self._answered = True
        if not (due or gone or first):
            self.sent = target
            self._done = (available, hold_removals)
            return None
        self._send(target, due | gone, new_nonce)
        return with_nonce(delta_response(self.kind, target, due, gone), self.nonce)


def _phantoms(versions: Mapping[str, str]) -> ResourceSet:
    """Return what a client says that it has: names and versions without content."""
    if not versions:
        return EMPTY
    return ResourceSet(Resource(name, version, b"") for name, version in versions.items())
