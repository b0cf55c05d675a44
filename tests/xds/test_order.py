"""Rows of the protocol about order: make before break."""

import asyncio

from tests.xds.client import Client, Reply
from tests.xds.test_changes import subscribe
from tests.xds.world import World, endpoint, gateway, upstream
from xds_server.protocol.stream import PATIENCE
from xds_server.types import CDS, EDS, LDS, RDS


async def _collect(client: Client, count: int) -> list[Reply]:
    return [await client.ack(await client.recv()) for _ in range(count)]


async def test_one_commit_that_touches_all(client: Client, world: World) -> None:
    """One commit that touches all types → CDS, EDS, LDS, RDS."""
    await subscribe(client)
    await world.commit(
        upstream("a", port=9100, connect_timeout="9s"),
        gateway(port=10001),
        endpoint("a", timeout="9s"),
        halts=[],
    )
    assert [each.kind for each in await _collect(client, 4)] == [CDS, EDS, LDS, RDS]
    await client.quiet()


async def test_order_without_waiting(client: Client, world: World) -> None:
    """The order holds also for a client that answers only when it has read all."""
    await subscribe(client)
    await world.commit(
        upstream("a", port=9100, connect_timeout="9s"), gateway(port=10001), endpoint("a", timeout="9s")
    )
    replies = [await client.recv() for _ in range(4)]
    assert [each.kind for each in replies] == [CDS, EDS, LDS, RDS]


async def test_repointing(client: Client, world: World) -> None:
    """X→Y: Y's cluster and endpoints, then the route, then the removal of X."""
    await subscribe(client)
    await world.commit(upstream("y"), endpoint("a", "y"), remove=[("upstream", "a")])
    clusters = await client.recv(CDS)
    assert clusters.names == (["y"] if client.delta else ["a", "b", "y"])
    assert clusters.removed == ()
    await client.quiet()
    await client.ask(EDS, "a", "b", "y")
    endpoints = await client.recv(EDS)
    assert endpoints.names == ["y"]
    await client.ack(clusters)
    await client.quiet()
    await client.ack(endpoints)
    routes = await client.recv(RDS)
    assert b"\x0a\x01y" in routes.resources["brownout"]
    await client.quiet()
    await client.ack(routes)
    gone = await client.recv(CDS)
    assert (gone.names, gone.removed) == (([], ("a",)) if client.delta else (["b", "y"], ()))
    await client.quiet()
    await client.ask(EDS, "b", "y")
    await client.ack(gone)
    await client.quiet()


async def test_cluster_stays_while_routes_are_rejected(client: Client, world: World) -> None:
    """Before removing a cluster, wait for that stream's RDS ACK; while RDS is rejected the cluster stays."""
    await subscribe(client)
    await world.commit(endpoint("a", "b"), remove=[("upstream", "a")])
    routes = await client.recv(RDS)
    await client.quiet()
    await client.nack(routes)
    await client.quiet()
    await world.commit(upstream("b", connect_timeout="9s"))
    changed = await client.next(CDS)
    assert changed.names == (["b"] if client.delta else ["a", "b"])
    assert changed.removed == ()
    if client.delta:
        await client.next(EDS)
    await world.commit(endpoint("c", "b"))
    await client.next(RDS)
    gone = await client.next(CDS)
    assert (gone.names, gone.removed) == (([], ("a",)) if client.delta else (["b"], ()))


async def test_removal_at_once_where_nothing_routes(client: Client, world: World) -> None:
    """Without routes on the stream, a cluster that is gone is removed at once."""
    await client.get(CDS)
    await world.commit(endpoint("a", "b"))
    gone = await client.next(CDS)
    assert (gone.names, gone.removed) == (([], ("a",)) if client.delta else (["b"], ()))


async def test_routes_do_not_wait_for_ever(client: Client, world: World) -> None:
    """A client that does not answer a new cluster gets the routes to it all the same, after a while."""
    await subscribe(client)
    loop = asyncio.get_running_loop()
    before = loop.time()
    await world.commit(upstream("y"), endpoint("a", "y"))
    await client.recv(CDS)
    await client.next(RDS)
    assert loop.time() - before >= PATIENCE * 0.9


async def test_routes_flow_when_clusters_are_rejected(client: Client, world: World) -> None:
    """A rejected CDS holds no other type up."""
    await subscribe(client)
    await world.commit(upstream("y"), endpoint("a", "y"))
    await client.nack(await client.recv(CDS))
    await client.next(RDS)
    gone = await client.next(CDS)
    assert (gone.names, gone.removed) == (([], ("a",)) if client.delta else (["b", "y"], ()))


async def test_a_deleted_fleet(client: Client, world: World) -> None:
    """A fleet that is deleted: listeners and routes first, clusters last."""
    await subscribe(client)
    await world.commit(remove=[("fleet", "edge")])
    expected = [LDS, RDS, CDS] if client.delta else [LDS, CDS]
    replies = await _collect(client, len(expected))
    assert [each.kind for each in replies] == expected
    assert all(each.names == [] for each in replies)
    if client.delta:
        assert sorted((await client.next(EDS)).removed) == ["a", "b"]
    await client.quiet()
