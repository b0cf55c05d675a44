"""Rows of the protocol about streams as such: first requests, nodes, errors, several streams."""

from contextlib import suppress

import grpc
import pytest
from envoy_data_plane.envoy.config.core.v3 import Extension, Node
from envoy_data_plane.envoy.service.discovery.v3 import DeltaDiscoveryRequest, DiscoveryRequest

from tests.xds.client import Client, Clients
from tests.xds.world import World, endpoint, gateway, upstream
from xds_server import XdsServer
from xds_server.types import CDS, ECDS, EDS, LDS, ORDER, RDS


async def test_first_request_is_answered(client: Client) -> None:
    """The first request of every type is answered with its resources, its type URL, a nonce and a version."""
    expected = {CDS: ["a", "b"], EDS: ["a", "b"], LDS: ["http"], RDS: ["brownout"], ECDS: ["brownout"]}
    for kind in ORDER:
        reply = await client.get(kind, *([] if kind.full_state else expected[kind]))
        assert reply.kind is kind
        assert reply.names == expected[kind]
        assert reply.nonce
        assert reply.version
    await client.quiet()


async def test_node_in_the_first_request_only(client: Client, server: XdsServer) -> None:
    """Later requests without the node get the same node's configuration."""
    await client.get(CDS)
    assert client.node is None
    await client.get(LDS)
    assert [(each.id, each.fleet) for each in server.status.nodes()] == [("n1", "edge")]


@pytest.mark.parametrize(
    "node", [Node(cluster="edge"), None, Node(id="n1")], ids=["no id", "no node", "no cluster"]
)
async def test_no_node_is_an_error(clients: Clients, world: World, delta: bool, node: Node | None) -> None:
    """A first request without `node.id`, or without the fleet, ends the stream with INVALID_ARGUMENT."""
    async with clients.open(delta=delta) as client:
        client.node = node
        await client.ask(CDS)
        code, details = await client.ended()
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert "node." in details


async def test_garbage_is_an_error(clients: Clients, world: World, delta: bool) -> None:
    """Bytes that are no request end the stream with INVALID_ARGUMENT, first or later; others go on."""
    async with clients.open(delta=delta) as other, clients.open(delta=delta) as client:
        await other.get(CDS)
        await client.get(CDS)
        await client.send(b"\xff\xff\xff\xff")
        assert (await client.ended())[0] is grpc.StatusCode.INVALID_ARGUMENT
        async with clients.open(delta=delta) as broken:
            await broken.send(b"\x0a\xff\xff\xff\xff\x7fx")
            assert (await broken.ended())[0] is grpc.StatusCode.INVALID_ARGUMENT
        await other.get(LDS)


async def test_unknown_type_is_ignored(client: Client) -> None:
    """A type URL that we do not have is not answered; the stream and the other types go on."""
    url = "type.googleapis.com/envoy.service.runtime.v3.Runtime"
    make = DeltaDiscoveryRequest if client.delta else DiscoveryRequest
    await client.send(bytes(make(type_url=url, node=client.node)))
    await client.quiet()
    await client.get(CDS)
    await client.send(bytes(make(type_url=url)))
    await client.get(LDS)


async def test_unavailable_before_the_store_is_loaded(
    clients: Clients, server: XdsServer, delta: bool
) -> None:
    """Who connects before there is a configuration gets UNAVAILABLE, never empty listeners or clusters."""
    async with clients.open(delta=delta) as client:
        with suppress(grpc.aio.AioRpcError):  # the stream may have ended before it is written to
            await client.ask(CDS)
        code, details = await client.ended()
        assert code is grpc.StatusCode.UNAVAILABLE
        assert "loaded" in details
    before = server.loaded
    world = World()
    world.connect(server)
    await world.commit(upstream("a"))
    assert (before, server.loaded) == (False, True)
    async with clients.open(delta=delta) as client:
        assert (await client.get(CDS)).names == []


async def test_two_envoys_with_one_node_id(
    clients: Clients, world: World, delta: bool, server: XdsServer
) -> None:
    """Both are served, with nonces of their own; one's NACK or disconnect leaves the other alone."""
    async with clients.open(delta=delta) as first:
        async with clients.open(delta=delta) as second:
            replies = [await first.get(CDS), await second.get(CDS)]
            assert replies[0].nonce != replies[1].nonce
            await first.get(RDS, "brownout")
            await second.ask(RDS, "brownout")
            await second.nack(await second.recv(RDS))
            await world.commit(endpoint("c", "a"))
            await first.next(RDS)
            await second.nack(await second.recv(RDS))
        await world.commit(endpoint("d", "a"))
        await first.next(RDS)
        await first.quiet()


async def test_request_over_4_mib(client: Client) -> None:
    """A request of several megabytes is accepted (version maps of large fleets, long lists of names)."""
    many = [f"cluster-{index:06}-{'x' * 80}" for index in range(60_000)]
    if client.delta:
        await client.ask(EDS, "a", initial=dict.fromkeys(many, "0123456789abcdef"))
    else:
        await client.ask(EDS, "a", *many)
    assert (await client.recv(EDS)).names == ["a"]


async def test_node_with_extensions(clients: Clients, world: World, delta: bool, server: XdsServer) -> None:
    """A node as Envoy sends it, with hundreds of extensions and on every request, is understood."""
    extensions = [
        Extension(name=f"envoy.filters.{index}", category="envoy.filters.http") for index in range(500)
    ]
    node = Node(id="n1", cluster="edge", extensions=extensions)
    async with clients.open(delta=delta, node=node) as client:
        for kind in (CDS, LDS):
            await client.get(kind)
            client.node = node
        assert server.status.nodes()[0].id == "n1"


async def test_fleet_that_does_not_exist(clients: Clients, world: World, delta: bool) -> None:
    """An Envoy of an unknown fleet gets nothing, promptly; when the fleet is created, it gets that."""
    async with clients.open(delta=delta, fleet="new") as client:
        assert (await client.get(CDS)).names == []
        assert (await client.get(LDS)).names == []
        assert (await client.get(ECDS, "brownout")).names == ["brownout"]
        await world.commit(gateway("new"), endpoint("x", "a"), fleet="new")
        assert (await client.next(CDS)).names == ["a"]
        assert (await client.next(LDS)).names == ["http"]
