"""State of the world: every request names all that the client wants, and supersedes the one before."""

from collections.abc import Callable

from xds_server.protocol.requests import SotwRequest
from xds_server.protocol.responses import sotw_response, with_nonce
from xds_server.protocol.state import WILDCARD, TypeState, Verdict
from xds_server.resource_set import NO_NAMES, ResourceSet
from xds_server.types import TypeInfo


class SotwState(TypeState):
    """One type of one state-of-the-world stream."""

    __slots__ = ("_legacy", "_owed", "_restate")

    def __init__(self, kind: TypeInfo) -> None:
        super().__init__(kind)
        self._legacy = kind.full_state
        self._owed: frozenset[str] = NO_NAMES
        self._restate = False

    def receive(self, request: SotwRequest) -> Verdict:
        """Take a request in."""
        verdict = Verdict.NONE
        self._done = None
        if self.subscribed and self.nonce and request.nonce:
            # "The management server should not send a DiscoveryResponse for any DiscoveryRequest that has a
            # stale nonce": the client repeats its names when it answers the newer response. A nonce that
            # this stream never sent is an older stream's, and means nothing on the first request. A request
            # without one was sent before the first response arrived: it answers nothing, and its names count.
            if request.nonce != self.nonce:
                return Verdict.STALE
            verdict = self._settle(request)
        self.subscribed = True
        self._subscribe(request.names)
        if self._owed:
            self.forced |= self._owed & self.names
            self._owed = NO_NAMES
        return verdict

    def _subscribe(self, names: frozenset[str]) -> None:
        """Take `names` as all that is wanted from now on.

        No names mean all as long as there never were any (listeners and clusters only); afterwards they
        mean none:
        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
        """
        if self._legacy:
            self.wildcard = True
            if not names:
                return
            self.wildcard, self._legacy = False, False
            had_all = self.sent is not None
        else:
            had_all = self.wildcard
        if names == self.names and not had_all:
            return
        self.wildcard = WILDCARD in names
        # The Envoys of a fleet ask for the same names, and then share one object.
        explicit = names - {WILDCARD} if self.wildcard else names
        # "the server must resend any newly requested resources, even if it previously sent those resources
        # without having been asked for them and the resources have not changed since that time"
        self.forced = (self.forced | (explicit - self.names)) & explicit
        self.names = explicit
        if not self.wildcard:
            self._forget(explicit)
            # What "all" was, only the server knew: say what is left of it, as listeners and clusters are
            # stated.
            self._restate = had_all and self.kind.full_state and bool(explicit)

    def owe(self, names: frozenset[str]) -> None:
        """Send `names` again at the next request for them, changed or not.

        A changed cluster warms until its endpoints arrive, and asks for them by repeating the request that
        was answered already:
        https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#resource-warming
        """
        if self.sent is not None:
            self._owed |= names & self.names & self.sent.names

    def poll(
        self, available: ResourceSet, new_nonce: Callable[[], str], *, hold_removals: bool = False
    ) -> bytes | None:
        """Return the response that is due, given all that is `available`; None when none is.

        With `hold_removals`, what is gone stays for now.
        """
        if self._idle(available, hold_removals=hold_removals):
            return None
        target = self.target(available)
        if hold_removals and self.sent is not None:
            target = target.retaining(self.sent)
        changes = self.changes(target)
        due = self._due(target, changes)
        if self.kind.full_state:
            # Listeners and clusters: always all of them. The first request is answered even when there are
            # none, else the client waits 15 s for what does not exist.
            first = self.sent is None and (self.wildcard or bool(self.names))
            if not (first or due or changes or self._restate):
                self._done = (available, hold_removals)
                return None
            due = target.names
            self._restate = False
        else:
            # Nothing says "deleted" here; if it comes back, it is new.
            if self.forced:
                self.forced &= target.names
            if changes.removed:
                self._forget(target.names)
            if not due:
                self._done = (available, hold_removals)
                return None
        if self._owed:
            self._owed -= due
        self._send(target, due, new_nonce)
        return with_nonce(sotw_response(self.kind, target, due), self.nonce)
