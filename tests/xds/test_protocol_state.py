"""The protocol's state of one type, without a stream: what only a precise sequence shows."""

import itertools
from collections.abc import Callable, Mapping

import pytest
from envoy_data_plane.envoy.service.discovery.v3 import DeltaDiscoveryResponse, DiscoveryResponse
from envoy_data_plane.google.protobuf import Any

from xds_server.protocol.delta import DeltaState
from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.protocol.sotw import SotwState
from xds_server.protocol.state import Verdict
from xds_server.resource_set import EMPTY, Resource, ResourceSet
from xds_server.types import CDS, EDS, TypeInfo


def body(name: str, content: str) -> bytes:
    return bytes(Any(type_url="types/test", value=f"{name}={content}".encode()))


def resources(contents: Mapping[str, str]) -> ResourceSet:
    return ResourceSet(Resource.of(name, body(name, content)) for name, content in contents.items())


AB = resources({"a": "1", "b": "1"})
A2B = resources({"a": "2", "b": "1"})


@pytest.fixture
def nonces() -> Callable[[], str]:
    counter = itertools.count(1)
    return lambda: str(next(counter))


class Sotw:
    """A client of a `SotwState`."""

    def __init__(self, kind: TypeInfo, nonces: Callable[[], str]) -> None:
        self.state = SotwState(kind)
        self.nonces = nonces

    def ask(self, *names: str, nonce: str | None = None, error: str | None = None) -> Verdict:
        nonce = self.state.nonce if nonce is None else nonce
        return self.state.receive(SotwRequest(names=frozenset(names), nonce=nonce, error=error))

    def poll(self, available: ResourceSet, *, hold: bool = False) -> list[str] | None:
        """The names in the response that is due."""
        data = self.state.poll(available, self.nonces, hold_removals=hold)
        if data is None:
            return None
        parts = DiscoveryResponse.parse(data).resources
        return sorted(bytes(each.value).decode().partition("=")[0] for each in parts)


class Delta:
    """A client of a `DeltaState`."""

    def __init__(self, kind: TypeInfo, nonces: Callable[[], str]) -> None:
        self.state = DeltaState(kind)
        self.nonces = nonces

    def ask(
        self, *names: str, drop: str = "", nonce: str = "", error: str | None = None, **had: str
    ) -> Verdict:
        return self.state.receive(
            DeltaRequest(
                subscribe=frozenset(names),
                unsubscribe=frozenset(drop),
                nonce=nonce,
                error=error,
                initial_versions=had,
            )
        )

    def error(self) -> str | None:
        return self.state.error

    def answer(self, error: str | None = None) -> Verdict:
        return self.ask(nonce=self.state.nonce, error=error)

    def poll(self, available: ResourceSet, *, hold: bool = False) -> tuple[list[str], list[str]] | None:
        """The names in the response that is due, and the names that are gone."""
        data = self.state.poll(available, self.nonces, hold_removals=hold)
        if data is None:
            return None
        message = DeltaDiscoveryResponse.parse(data)
        return sorted(each.name for each in message.resources), list(message.removed_resources)


def test_rejected_together(nonces: Callable[[], str]) -> None:
    """What was right in a rejected response comes again together with the correction, and not before."""
    delta = Delta(EDS, nonces)
    delta.ask("a", "b")
    assert delta.poll(AB) == (["a", "b"], [])
    assert delta.answer("a is bad") is Verdict.NACKED
    assert delta.poll(AB) is None
    with_c = resources({"a": "1", "b": "1", "c": "1"})
    delta.ask("c")
    assert delta.poll(with_c) == (["c"], [])
    assert delta.answer() is Verdict.ACKED
    assert delta.error() == "a is bad"
    assert delta.poll(A2B) == (["a", "b"], ["c"])
    delta.answer()
    assert delta.error() is None
    assert delta.state.settled(A2B)


def test_rejected_then_unwanted(nonces: Callable[[], str]) -> None:
    """An error is over when the client no longer wants what it rejected, or when that is gone."""
    delta = Delta(EDS, nonces)
    delta.ask("a", "b")
    delta.poll(AB)
    delta.answer("no")
    delta.ask(drop="ab")
    assert delta.error() is None
    delta.ask("a")
    delta.poll(AB)
    delta.answer("no")
    assert delta.poll(resources({"b": "1"})) == ([], ["a"])
    delta.answer()
    assert delta.error() is None


def test_repeated_nack(nonces: Callable[[], str]) -> None:
    """A NACK that comes again is known as such, and keeps the newest text."""
    delta = Delta(EDS, nonces)
    delta.ask("a")
    delta.poll(AB)
    assert [delta.answer("one"), delta.answer("two")] == [Verdict.NACKED, Verdict.REPEATED]
    assert delta.error() == "two"


def test_held_removals(nonces: Callable[[], str]) -> None:
    """What is gone stays while removals are held, and goes afterwards."""
    delta = Delta(CDS, nonces)
    delta.ask()
    delta.poll(AB)
    delta.answer()
    only_b = resources({"b": "1"})
    assert delta.poll(only_b, hold=True) is None
    assert delta.poll(only_b) == ([], ["a"])


def test_held_removals_of_what_an_older_stream_had(nonces: Callable[[], str]) -> None:
    """What the client says that it has, and nobody else has: it is not sent without content, only removed."""
    delta = Delta(CDS, nonces)
    delta.ask("*", "gone", gone="1", a=AB["a"].version, b=AB["b"].version)
    assert delta.poll(AB, hold=True) is None
    delta.ask("gone")
    assert delta.poll(AB, hold=True) is None
    assert delta.poll(AB) == ([], ["gone"])


def test_held_removals_sotw(nonces: Callable[[], str]) -> None:
    """In state of the world, what is gone is still in the response while removals are held."""
    sotw = Sotw(CDS, nonces)
    sotw.ask()
    assert sotw.poll(AB) == ["a", "b"]
    sotw.ask()
    changed = resources({"b": "2"})
    assert sotw.poll(changed, hold=True) == ["a", "b"]
    sotw.ask()
    assert sotw.poll(changed, hold=True) is None
    assert sotw.poll(changed) == ["b"]


def test_wildcard_reconnect_without_news(nonces: Callable[[], str]) -> None:
    """A wildcard client that has everything gets no response; one that has nothing of nothing gets one."""
    delta = Delta(CDS, nonces)
    delta.ask(a=AB["a"].version, b=AB["b"].version)
    assert delta.poll(AB) is None
    assert delta.state.settled(AB)
    fresh = Delta(CDS, nonces)
    fresh.ask()
    assert fresh.poll(EMPTY) == ([], [])
    fresh.answer()
    assert fresh.poll(EMPTY) is None


def test_endpoints_of_a_changed_cluster(nonces: Callable[[], str]) -> None:
    """S: endpoints that are owed come with the next request, unless they were sent meanwhile; D: at once."""
    sotw = Sotw(EDS, nonces)
    sotw.ask("a", "b")
    sotw.poll(AB)
    sotw.ask("a", "b")
    sotw.state.owe(frozenset({"a", "z"}))
    assert sotw.poll(AB) is None
    sotw.ask("a", "b")
    assert sotw.poll(AB) == ["a"]
    sotw.ask("a", "b")
    sotw.state.owe(frozenset({"a"}))
    assert sotw.poll(A2B) == ["a"]
    sotw.ask("a", "b")
    assert sotw.poll(A2B) is None
    delta = Delta(EDS, nonces)
    delta.ask("a", "b")
    delta.poll(AB)
    delta.answer()
    delta.state.resend(frozenset({"a", "z"}))
    assert delta.poll(AB) == (["a"], [])


def test_nothing_is_shared_between_clients(nonces: Callable[[], str]) -> None:
    """Clients that make the same step get the same bytes but for the nonce, built once."""
    first, second = Delta(EDS, nonces), Delta(EDS, nonces)
    for each in (first, second):
        each.ask("a", "b")
        each.poll(AB)
    assert first.state.sent is second.state.sent
    assert first.state.nonce != second.state.nonce
