"""Random clients against a model of the protocol, on the state of a whole stream."""

import itertools
from typing import Any

import pytest
from envoy_data_plane.envoy.service.discovery.v3 import DeltaDiscoveryResponse, DiscoveryResponse
from envoy_data_plane.google.protobuf import Any as Packed
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.protocol.stream import PATIENCE, StreamState
from xds_server.resource_set import Resource, ResourceSet
from xds_server.snapshot import Snapshot
from xds_server.types import BY_URL, CDS, ECDS, EDS, LDS, ORDER, RDS, TypeInfo

NAMES = ("a", "b", "c", "d")
POOL: dict[TypeInfo, tuple[str, ...]] = {CDS: NAMES, EDS: NAMES, LDS: ("a", "b"), RDS: ("r",), ECDS: ("e",)}
kinds = st.sampled_from(ORDER)
WILD = "*"


class Type:
    """What the model knows of one type on the present stream."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.ever_named = False
        self.active = False
        self.has: dict[str, bytes] = {}
        """What the client has taken, by name."""
        self.unanswered: tuple[str, dict[str, bytes], tuple[str, ...]] | None = None
        self.nonce = ""
        self.rejected: dict[str, bytes] | None = None
        self.asked_since = False
        """Whether the client asked anew after the last response."""

    def wildcard(self, kind: TypeInfo) -> bool:
        return WILD in self.asked or (self.active and not self.ever_named and kind.full_state)


class Streams(RuleBasedStateMachine):
    """One client and what is configured.

    Every response is checked when it comes, and the end state when it is quiet.
    """

    delta = False

    def __init__(self) -> None:
        super().__init__()
        self.counter = itertools.count(1)
        self.contents: dict[TypeInfo, dict[str, int]] = {kind: {} for kind in ORDER}
        self.sets: dict[TypeInfo, ResourceSet] = {kind: ResourceSet() for kind in ORDER}
        self.routed: frozenset[str] = frozenset()
        self.now = 0.0
        self.nonces: set[str] = set()
        self.versions: dict[TypeInfo, dict[str, str]] = {kind: {} for kind in ORDER}
        self.types: dict[TypeInfo, Type] = {}
        self.connect(resume=False)

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        for kind in ORDER:
            self._write(kind, data.draw(st.dictionaries(st.sampled_from(POOL[kind]), st.integers(0, 2))))

    # -- what is configured

    def _write(self, kind: TypeInfo, contents: dict[str, int]) -> None:
        """Configure `contents`; what is the same keeps its object, as in the compiler."""
        self.contents[kind] = contents
        made = ResourceSet(
            Resource.of(name, bytes(Packed(type_url=kind.url, value=f"{name}={value}".encode())))
            for name, value in sorted(contents.items())
        )
        if made.version != self.sets[kind].version:
            self.sets[kind] = made

    @rule(kind=kinds, data=st.data())
    def publish(self, kind: TypeInfo, data: st.DataObject) -> None:
        """Change one type."""
        self._write(kind, data.draw(st.dictionaries(st.sampled_from(POOL[kind]), st.integers(0, 2))))
        self.routed = frozenset(data.draw(st.sets(st.sampled_from(NAMES)))) & self.sets[CDS].names
        self.poll()

    # -- the client

    @rule(resume=st.booleans())
    def connect(self, *, resume: bool) -> None:
        """Open a new stream; with `resume` the client says what it has."""
        had = {kind: dict(each.has) for kind, each in self.types.items()} if resume else {}
        self.state = StreamState(lambda: format(next(self.counter), "x"), delta=self.delta)
        self.types = {kind: Type() for kind in ORDER}
        self.initial = had
        self.now += 10 * PATIENCE

    @rule(kind=kinds, data=st.data())
    def ask(self, kind: TypeInfo, data: st.DataObject) -> None:
        """Want exactly these names from now on."""
        names = set(data.draw(st.sets(st.sampled_from((*POOL[kind], WILD)), max_size=3)))
        model = self.types[kind]
        if self.delta and model.active and not (names ^ model.asked):
            return
        self._set(kind, names)
        self.poll()

    def _set(self, kind: TypeInfo, names: set[str]) -> None:
        model = self.types[kind]
        first, was_wild = not model.active, model.wildcard(kind)
        before, model.asked = model.asked, names
        model.active = True
        model.ever_named = model.ever_named or bool(names)
        # The incremental client without names still wants all until it says otherwise.
        legacy = self.delta and was_wild and WILD not in before
        if self.delta:
            had = self.initial.get(kind, {}) if first else {}
            drop = (before - names) | ({WILD} if legacy and names and WILD not in names else set())
            if legacy and not names:
                return
            self._send(
                kind,
                subscribe=frozenset(names - before),
                unsubscribe=frozenset(drop),
                initial_versions={name: self._version(body) for name, body in had.items()} if first else {},
            )
            if first:
                wanted = had if model.wildcard(kind) else {n: b for n, b in had.items() if n in names}
                model.has = dict(wanted)
        else:
            # A request with the nonce of a response, and without an error, accepts that.
            if model.unanswered is not None:
                self._accept(kind)
            self._send(kind)
        self._forget(kind)

    @staticmethod
    def _version(body: bytes) -> str:
        return Resource.of("", body).version

    def _forget(self, kind: TypeInfo) -> None:
        model = self.types[kind]
        if not model.wildcard(kind):
            model.has = {name: body for name, body in model.has.items() if name in model.asked}
        model.asked_since = True

    def _send(self, kind: TypeInfo, **fields: Any) -> None:
        model = self.types[kind]
        if self.delta:
            request: SotwRequest | DeltaRequest = DeltaRequest(type_url=kind.url, **fields)
        else:
            fields = {"names": frozenset(model.asked), "nonce": model.nonce} | fields
            request = SotwRequest(type_url=kind.url, **fields)
        self.state.receive(request)

    @precondition(lambda self: any(each.unanswered for each in self.types.values()))
    @rule(reject=st.booleans(), data=st.data())
    def answer(self, *, reject: bool, data: st.DataObject) -> None:
        """ACK or NACK one response."""
        waiting = [kind for kind in ORDER if self.types[kind].unanswered is not None]
        kind = data.draw(st.sampled_from(waiting))
        self._answer(kind, reject=reject)
        self.poll()

    def _answer(self, kind: TypeInfo, *, reject: bool) -> None:
        model = self.types[kind]
        assert model.unanswered is not None
        nonce, content, _ = model.unanswered
        if reject:
            model.unanswered, model.rejected = None, content
        else:
            self._accept(kind)
        self._send(kind, nonce=nonce, error="no" if reject else None)

    def _accept(self, kind: TypeInfo) -> None:
        model = self.types[kind]
        assert model.unanswered is not None
        _, content, removed = model.unanswered
        model.unanswered = None
        if not self.delta and kind.full_state:
            model.has = {}
        model.has |= {n: b for n, b in content.items() if n in model.asked or model.wildcard(kind)}
        for name in removed:
            model.has.pop(name, None)

    @precondition(lambda self: any(each.nonce for each in self.types.values()))
    @rule(kind=kinds)
    def stale(self, kind: TypeInfo) -> None:
        """Answer a response that never was."""
        if self.types[kind].active and self.types[kind].nonce:
            self._send(kind, nonce="stale")
            self.poll()

    @rule(seconds=st.sampled_from([0.1, PATIENCE + 0.1]))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.poll()

    @rule()
    def settle(self) -> None:
        """Accept all that comes: then the client has what it asked for, and nothing more is due."""
        for _ in range(60):
            waiting = [kind for kind in ORDER if self.types[kind].unanswered is not None]
            for kind in waiting:
                self._answer(kind, reject=False)
            self.now += PATIENCE + 0.1
            if not self.poll() and not waiting:
                break
        else:
            raise AssertionError("it never ends")
        for kind, model in self.types.items():
            if self.state.types[kind].error is None and model.active:
                self._has_what_it_should(kind, model)

    def _has_what_it_should(self, kind: TypeInfo, model: Type) -> None:
        there = {name: self.sets[kind][name].body for name in self.sets[kind].names}
        wanted = {n: b for n, b in there.items() if n in model.asked or model.wildcard(kind)}
        if self.delta or kind.full_state:
            held = self._held_back(kind)
            assert {n: b for n, b in model.has.items() if n not in held} == wanted
        else:
            assert {n: b for n, b in model.has.items() if n in wanted} == wanted

    def _held_back(self, kind: TypeInfo) -> set[str]:
        """Names that are gone and stay while routes are rejected."""
        refused = any(self.state.types[each].error is not None for each in (RDS, LDS))
        return set(self.types[kind].has) - self.sets[kind].names if refused and kind in (CDS, EDS) else set()

    # -- responses

    def poll(self) -> int:
        """Take all responses that are due, and check each."""
        snapshot = Snapshot(self.sets, self.routed)
        count = 0
        while (found := self.state.poll(snapshot, self.now)) is not None:
            self._take(found[0].kind, found[1])
            count += 1
            assert count < 20, "it never ends"
        return count

    def _take(self, kind: TypeInfo, data: bytes) -> None:
        removed: tuple[str, ...] = ()
        if self.delta:
            message = DeltaDiscoveryResponse.parse(data)
            pairs = [(each.name, bytes(each.resource or Packed())) for each in message.resources]
            removed = tuple(message.removed_resources)
            nonce = message.nonce
            assert all(each.version for each in message.resources)
        else:
            answer = DiscoveryResponse.parse(data)
            pairs = [(bytes(each.value).decode().partition("=")[0], bytes(each)) for each in answer.resources]
            nonce = answer.nonce
        assert BY_URL[(message if self.delta else answer).type_url] is kind
        content, model = dict(pairs), self.types[kind]
        assert len(content) == len(pairs), "a name comes twice"
        assert not content.keys() & set(removed)
        assert nonce not in self.nonces, "a nonce comes twice"
        self.nonces.add(nonce)
        assert model.active, "nobody asked for this type"
        assert model.unanswered is None, "two responses in flight"
        for name in content:
            assert name in model.asked or model.wildcard(kind), "nobody asked for this name"
        if model.rejected is not None and not model.asked_since:
            assert removed or content != model.rejected, "what was rejected comes again"
        if not self.delta and kind is CDS:
            assert set(content) >= self._still_routed(model), "a cluster went before the routes to it"
        if kind is CDS:
            assert not set(removed) & self._still_routed(model) - model.asked, (
                "a cluster went before its routes"
            )
        model.unanswered = (nonce, content, removed)
        model.nonce = nonce
        model.rejected = None
        model.asked_since = False

    def _still_routed(self, model: Type) -> set[str]:
        """Clusters that the client has, and must keep because its routes are not settled."""
        if self.state.types[RDS].settled(self.sets[RDS]) and self.state.types[LDS].settled(self.sets[LDS]):
            return set()
        wanted = set(model.has) if model.wildcard(CDS) else set(model.has) & model.asked
        return {name for name in wanted if model.nonce}

    @invariant()
    def nothing_is_due(self) -> None:
        """After every step, all that was due has been sent."""
        assert self.poll() == 0


class Incremental(Streams):
    """The same for the incremental variant."""

    delta = True


@pytest.mark.parametrize("machine", [Streams, Incremental], ids=["sotw", "delta"])
def test_random_clients(machine: type[Streams]) -> None:
    """Whatever clients do, no rule of the protocol is broken, and who settles has what it asked for."""
    run_state_machine_as_test(
        machine, settings=settings(max_examples=80, stateful_step_count=30, deadline=None)
    )
