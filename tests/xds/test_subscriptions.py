"""Rows of the protocol about what a client asks for."""

import pytest

from tests.xds.client import Client, Clients
from tests.xds.world import World, endpoint, gateway, upstream
from xds_server.types import CDS, ECDS, EDS, LDS, RDS, TypeInfo


@pytest.fixture(params=[CDS, LDS], ids=lambda kind: kind.key)
def full(request: pytest.FixtureRequest) -> TypeInfo:
    kind: TypeInfo = request.param
    return kind


async def _two_of_each(world: World) -> None:
    """Listeners `a` and `b`, as there are clusters `a` and `b`."""
    await world.commit(gateway(listeners=["a", "b"]))


async def _change(world: World, *names: str) -> None:
    """Change the listeners and clusters of these names."""
    fleet = world.catalog.fleets["edge"].entity
    listeners = [
        each.model_copy(update={"port": each.port + 100}) if each.name in names else each
        for each in fleet.listeners
    ]
    port = 9000 + world.catalog.revision
    changed = (upstream(name, port=port, connect_timeout=f"{port}ms") for name in names)
    await world.commit(fleet.model_copy(update={"listeners": tuple(listeners)}), *changed)


async def _read_so_far(client: Client, kind: TypeInfo, name: str) -> None:
    """Wait until the server has read what was sent: it answers a stream's requests in their order."""
    assert (await client.get(kind, name)).names == [name]


async def test_no_names_mean_all(client: Client, world: World, full: TypeInfo) -> None:
    """Empty names on LDS and CDS → everything in one response."""
    await _two_of_each(world)
    assert (await client.get(full)).names == ["a", "b"]
    await client.quiet()


async def test_all_then_some_then_none_sotw(sotw: Client, world: World, full: TypeInfo) -> None:
    """S: `[]` → `[*,A]` → `[A]` → `[]`: all; all and A; A only; nothing."""
    await _two_of_each(world)
    assert (await sotw.get(full)).names == ["a", "b"]
    assert (await sotw.get(full, "*", "a")).names == ["a", "b"]
    await _change(world, "b")
    assert (await sotw.next(full)).names == ["a", "b"]
    assert (await sotw.get(full, "a")).names == ["a"]
    await _change(world, "b")
    await sotw.quiet()
    await _change(world, "a")
    assert (await sotw.next(full)).names == ["a"]
    await sotw.ask(full)
    await _read_so_far(sotw, ECDS, "brownout")
    await _change(world, "a", "b")
    await sotw.quiet()


async def test_all_then_some_then_none_delta(incremental: Client, world: World, full: TypeInfo) -> None:
    """D: the same four steps, each response with exactly what is due."""
    await _two_of_each(world)
    assert (await incremental.get(full)).names == ["a", "b"]
    assert (await incremental.get(full, "a")).names == ["a"]
    await _change(world, "b")
    assert (await incremental.next(full)).names == ["b"]
    await incremental.send_delta(full, resource_names_unsubscribe=["*"])
    await _read_so_far(incremental, RDS, "brownout")
    await _change(world, "b")
    await incremental.quiet()
    await _change(world, "a")
    assert (await incremental.next(full)).names == ["a"]
    await incremental.ask(full)
    await _read_so_far(incremental, ECDS, "brownout")
    await _change(world, "a", "b")
    await incremental.quiet()


async def test_unsubscribe_under_a_wildcard(incremental: Client, world: World, full: TypeInfo) -> None:
    """D: with `*`, who unsubscribes from a name is told whether `*` covers it.

    By the resource, or its removal.
    """
    await _two_of_each(world)
    await incremental.get(full, "*", "a", "gone")
    assert (await incremental.get(full, "*", "gone")).names == ["a"]
    reply = await incremental.get(full, "*")
    assert (reply.names, reply.removed) == ([], ("gone",))
    await incremental.quiet()


async def test_nothing_there(clients: Clients, world: World, delta: bool, full: TypeInfo) -> None:
    """The first LDS or CDS request where there is nothing.

    One empty response, which ends the initialisation.
    """
    async with clients.open(delta=delta, fleet="none") as client:
        reply = await client.get(full)
        assert (reply.names, reply.removed) == ([], ())
        await client.quiet()


@pytest.mark.parametrize("kind", [EDS, RDS, ECDS], ids=lambda kind: kind.key)
async def test_no_names_mean_nothing(client: Client, world: World, kind: TypeInfo) -> None:
    """An empty EDS, RDS or ECDS list → unsubscribed, quiet."""
    names = ["a", "b"] if kind is EDS else ["brownout"]
    await client.ask(kind)
    await client.quiet()
    assert (await client.get(kind, *names)).names == names
    await client.ask(kind)
    await _read_so_far(client, LDS, "http")
    await client.quiet()
    await world.commit(upstream("a", port=9100), endpoint("c", "a"), halts=["edge"])
    await client.quiet()


async def test_unsubscribed_then_subscribed_again(client: Client, world: World) -> None:
    """Unsubscribed names → quiet when they change; subscribed again at the same version → sent again."""
    await client.get(EDS, "a", "b")
    await client.ask(EDS, "b")
    await client.quiet()
    assert (await client.get(EDS, "a", "b")).names == ["a"]
    await client.ask(EDS, "b")
    await _read_so_far(client, RDS, "brownout")
    await world.commit(upstream("a", port=9100))
    await client.quiet()
    assert (await client.get(EDS, "a", "b")).names == ["a"]
    await client.quiet()


async def test_phantom_unsubscription(incremental: Client, world: World) -> None:
    """D: unsubscribing from what was not subscribed is ignored."""
    await incremental.get(EDS, "a")
    await incremental.send_delta(EDS, resource_names_unsubscribe=["b", "nothing"])
    await _read_so_far(incremental, RDS, "brownout")
    await incremental.quiet()
    await world.commit(upstream("a", port=9100))
    assert (await incremental.next(EDS)).names == ["a"]


async def test_subscribing_again_is_answered(incremental: Client) -> None:
    """D: names that are subscribed, and current, are sent when they are subscribed once more."""
    await incremental.get(EDS, "a", "b")
    await incremental.ask_again(EDS, "a")
    assert (await incremental.next(EDS)).names == ["a"]
    await incremental.get(CDS)
    incremental.asked[CDS].names = frozenset("*")
    await incremental.ask_again(CDS, "*")
    assert (await incremental.next(CDS)).names == ["a", "b"]


async def test_what_does_not_exist_delta(incremental: Client, world: World) -> None:
    """D: subscribing to what does not exist → told promptly; created later → pushed."""
    reply = await incremental.get(EDS, "a", "c")
    assert (reply.names, reply.removed) == (["a"], ("c",))
    await incremental.quiet()
    await world.commit(upstream("c"), endpoint("c"))
    reply = await incremental.next(EDS)
    assert (reply.names, reply.removed) == (["c"], ())


async def test_what_does_not_exist_sotw(sotw: Client, world: World) -> None:
    """S: what exists at once, the rest when it is created."""
    assert (await sotw.get(EDS, "a", "c")).names == ["a"]
    await sotw.quiet()
    await world.commit(upstream("c"), endpoint("c"))
    assert (await sotw.next(EDS)).names == ["c"]
    await sotw.quiet()


async def test_named_clusters(client: Client, world: World, full: TypeInfo) -> None:
    """Listeners and clusters asked for by name: those only, and they are complete in state of the world."""
    await _two_of_each(world)
    assert (await client.get(full, "b")).names == ["b"]
    await _change(world, "a")
    await client.quiet()
    assert (await client.get(full, "a", "b")).names == (["a"] if client.delta else ["a", "b"])
