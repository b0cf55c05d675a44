"""Rows of the protocol about what is sent when content changes, and what is not."""

import pytest

from brownout.domain import EndpointList
from tests.xds.client import Client, Clients
from tests.xds.world import World, endpoint, gateway, profile, upstream
from xds_server import XdsServer
from xds_server.types import CDS, ECDS, EDS, LDS, ORDER, RDS, TypeInfo

ALL = {CDS: (), EDS: ("a", "b"), LDS: (), RDS: ("brownout",), ECDS: ("brownout",)}


async def subscribe(client: Client) -> None:
    """Ask for all that an Envoy asks for, and accept it."""
    for kind, names in ALL.items():
        await client.get(kind, *names)


async def _hundred(world: World) -> list[str]:
    names = [f"u{index:02}" for index in range(100)]
    await world.commit(*(upstream(name) for name in names), *(endpoint(name) for name in names))
    return names


async def test_one_of_a_hundred_clusters(client: Client, world: World) -> None:
    """S: one of 100 clusters changes → all 100 in one response. D: exactly that one, with its own version."""
    names = await _hundred(world)
    before = await client.get(CDS)
    await world.commit(upstream("u42", connect_timeout="7s"))
    after = await client.next(CDS)
    if client.delta:
        assert after.names == ["u42"]
        assert after.versions["u42"] != before.versions["u42"]
    else:
        assert after.names == ["a", "b", *names]
        assert [name for name in names if after.resources[name] != before.resources[name]] == ["u42"]
    await client.quiet()


async def test_one_of_a_hundred_assignments(client: Client, world: World) -> None:
    """One of 100 EDS resources changes → that one is enough, in both variants."""
    names = await _hundred(world)
    assert (await client.get(EDS, *names)).names == names
    await world.commit(upstream("u42", port=9100))
    assert (await client.next(EDS)).names == ["u42"]
    await client.quiet()


async def test_identical_content(client: Client, world: World) -> None:
    """Identical content written again → quiet; so are a description, another fleet, an unused upstream."""
    await subscribe(client)
    await world.commit(
        upstream("a"), upstream("b"), endpoint("a"), endpoint("b", fault={"profile": "slow"}), gateway()
    )
    await world.commit(upstream("unused"), profile("unused"))
    await world.commit(gateway("other", port=11000), endpoint("z", "unused"), fleet="other")
    world.catalog = type(world.catalog)(
        revision=world.catalog.revision,
        profiles=dict(world.catalog.profiles),
        upstreams=dict(world.catalog.upstreams),
        fleets=dict(world.catalog.fleets),
        lists={name: EndpointList(each.items, each.revision) for name, each in world.catalog.lists.items()},
    )
    await world.commit()
    await client.quiet()


async def test_revision_of_unchanged_content(client: Client, world: World, server: XdsServer) -> None:
    """A node whose content a revision does not change has that revision."""
    await subscribe(client)
    number = await world.commit(upstream("unused"))
    reached = server.status.converged("edge")
    assert (reached.revision, reached.current, reached.converged) == (number, 1, True)
    assert {each.revision for each in server.status.nodes()[0].acknowledged.values()} == {number}


async def test_many_writes_in_one_transaction(client: Client, world: World) -> None:
    """N writes in one revision → at most one response per type."""
    await subscribe(client)
    await world.commit(
        *(upstream(name, port=9100, connect_timeout="2s") for name in "ab"),
        *(endpoint(f"r{index}", "a") for index in range(50)),
    )
    for kind in (CDS, EDS, RDS):
        await client.recv(kind)
    await client.quiet()


async def test_bursts_coalesce(client: Client, world: World) -> None:
    """Many revisions at once → few responses, the last with the newest content."""
    await subscribe(client)
    for index in range(100):
        world.change(endpoint("c", "a", match={"prefix": f"/c{index:02}"}))
    await world.published()
    replies = 0
    while b"/c99" not in (await client.next(RDS)).resources["brownout"]:
        replies += 1
    assert replies < 20
    await client.quiet()


async def test_last_cluster_is_deleted(client: Client, world: World) -> None:
    """S: an empty CDS response. D: the names in `removed_resources`."""
    await client.get(CDS)
    await world.commit(remove=[("endpoint", "a"), ("endpoint", "b"), ("upstream", "a"), ("upstream", "b")])
    reply = await client.next(CDS)
    assert reply.names == []
    assert sorted(reply.removed) == (["a", "b"] if client.delta else [])
    await client.quiet()


async def test_deleted_assignment(client: Client, world: World) -> None:
    """EDS of a deleted cluster: S nothing (there is no way to say it), D removed.

    Created again, it is sent.
    """
    await client.get(EDS, "a", "b")
    await world.commit(remove=[("endpoint", "b"), ("upstream", "b")])
    if client.delta:
        assert (await client.next(EDS)).removed == ("b",)
    await client.quiet()
    await world.commit(upstream("b"), endpoint("b"))
    assert (await client.next(EDS)).names == ["b"]


async def test_deleted_listener(client: Client, world: World) -> None:
    """A listener that is gone is missing (S) or removed (D)."""
    await world.commit(gateway(listeners=["one", "two"]))
    await client.get(LDS)
    await world.commit(gateway(listeners=["one"]))
    reply = await client.next(LDS)
    assert (reply.names, reply.removed) == (([], ("two",)) if client.delta else (["one"], ()))


async def test_changed_cluster_gets_its_endpoints_again(client: Client, world: World) -> None:
    """A cluster changes → its endpoints are sent again when the Envoy asks, unchanged or not (warming).

    An incremental Envoy does not ask for what it is subscribed to, so they come by themselves there.
    """
    await subscribe(client)
    await world.commit(upstream("a", connect_timeout="7s"))
    await client.next(CDS)
    if client.delta:
        assert (await client.next(EDS)).names == ["a"]
        await client.ask_again(EDS, "a")
    else:
        await client.quiet()
        await client.ask_again(EDS, "a", "b")
    assert (await client.next(EDS)).names == ["a"]
    await client.quiet()


async def test_halt_is_one_small_push(client: Client, world: World) -> None:
    """A halt, and its end, change the filter's configuration and nothing else."""
    await subscribe(client)
    await world.commit(halts=["edge"])
    assert b'"halted":true' in (await client.next(ECDS)).resources["brownout"]
    await client.quiet()
    await world.commit(halts=["*"])
    await client.quiet()
    await world.commit(halts=[])
    assert b'"halted":true' not in (await client.next(ECDS)).resources["brownout"]


async def test_extension_is_never_removed(client: Client, world: World) -> None:
    """ECDS by name; it is there even when the fleet is gone.

    And so never "removed" while it is referred to.
    """
    assert (await client.get(ECDS, "brownout")).names == ["brownout"]
    await world.commit(remove=[("fleet", "edge")])
    await client.quiet()
    if client.delta:
        assert (await client.get(ECDS, "brownout", "other")).removed == ("other",)


async def test_same_versions_after_a_restart(clients: Clients, client: Client, world: World) -> None:
    """A restarted server gives the same content the same versions.

    A fleet that is up to date is pushed nothing it has.
    """
    before = {kind: await client.get(kind, *ALL[kind]) for kind in ORDER}
    restarted = XdsServer()
    port = await restarted.start("127.0.0.1", 0)
    try:
        world.connect(restarted)
        await world.published()
        async with Clients(port).open(delta=client.delta) as again:
            for kind in ORDER:
                if client.delta:
                    await again.ask(kind, *ALL[kind], initial=before[kind].versions)
                else:
                    reply = await again.get(kind, *ALL[kind])
                    assert (reply.version, reply.resources) == (before[kind].version, before[kind].resources)
            await again.quiet()
    finally:
        await restarted.stop(0.1)


@pytest.mark.parametrize("kind", [CDS, EDS], ids=lambda kind: kind.key)
async def test_reconnect_with_versions(clients: Clients, world: World, kind: TypeInfo) -> None:
    """D: reconnect with `initial_resource_versions` {a: current, b: old, c.

    Gone} → b sent, c removed, a not sent.
    """
    await world.commit(upstream("c"), endpoint("c"))
    names = () if kind is CDS else ("a", "b", "c")
    async with clients.open(delta=True) as client:
        versions = (await client.get(kind, *names)).versions
        assert versions.keys() == {"a", "b", "c"}
    await world.commit(upstream("b", port=9100, connect_timeout="9s"), remove=[("endpoint", "c")])
    async with clients.open(delta=True) as client:
        await client.ask(kind, *names, initial=versions)
        reply = await client.next(kind)
        assert (reply.names, reply.removed) == (["b"], ("c",))
        await client.quiet()
