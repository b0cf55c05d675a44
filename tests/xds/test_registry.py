"""The node registry: what is known of the Envoys."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest
from envoy_data_plane.envoy.config.core.v3 import BuildVersion, Locality, Node
from envoy_data_plane.envoy.type.v3 import SemanticVersion
from envoy_data_plane.google.protobuf import Struct
from prometheus_client import CollectorRegistry

from brownout.ports import FleetStatus, NodeEvent  # noqa: TC001 (for annotations)
from brownout.profile import load_route_config
from tests.xds.client import AGGREGATED, EXTENSIONS, Client, Clients, eventually
from tests.xds.test_changes import subscribe
from tests.xds.world import SLOW, World, endpoint, profile, upstream
from xds_server import Options, XdsServer
from xds_server.types import CDS, ECDS, LDS, RDS

METADATA = {"canary": True, "weight": 2.0, "brownout": {"schema_version": 1}}


def _node(name: str = "n1", **metadata: Any) -> Node:
    return Node(
        id=name,
        cluster="edge",
        locality=Locality(region="eu", zone="eu-1"),
        metadata=Struct.from_dict(METADATA | metadata),
        user_agent_build_version=BuildVersion(
            version=SemanticVersion(major_number=1, minor_number=40, patch=2)
        ),
    )


async def test_what_a_node_says(clients: Clients, world: World, delta: bool, server: XdsServer) -> None:
    """Version, locality, metadata and schema version come from the node; times and fleet from the stream."""
    status: FleetStatus = server.status
    async with clients.open(delta=delta, node=_node()) as client:
        await subscribe(client)
        await eventually(lambda: status.converged("edge").converged)
        (node,) = status.nodes("edge")
        assert (node.id, node.fleet, node.connected, node.version) == ("n1", "edge", True, "1.40.2")
        assert node.locality == {"region": "eu", "zone": "eu-1"}
        assert node.metadata["canary"] is True
        assert node.schema_version == 1
        assert node.acknowledged.keys() == {"cds", "eds", "lds", "rds", "ecds"}
        assert {each.revision for each in node.acknowledged.values()} == {world.catalog.revision}
        assert status.nodes("other") == []


async def test_revision_of_what_is_not_acknowledged(client: Client, world: World, server: XdsServer) -> None:
    """Per type the revision is that of what was acknowledged; a fleet has converged when all have all."""
    await subscribe(client)
    before = world.catalog.revision
    await world.commit(endpoint("c", "a"))
    pending = await client.recv(RDS)
    node = server.status.nodes()[0]
    assert (node.acknowledged["rds"].revision, node.acknowledged["cds"].revision) == (before, before + 1)
    reached = server.status.converged("edge")
    assert (reached.revision, reached.nodes, reached.current, reached.converged) == (before + 1, 1, 0, False)
    await client.ack(pending)
    await eventually(lambda: server.status.converged("edge").converged)
    assert server.status.nodes()[0].acknowledged["rds"].revision == before + 1


async def test_an_envoy_that_starts_has_not_converged(client: Client, server: XdsServer) -> None:
    """While an Envoy has its clusters and has not asked for listeners, or for routes, it is not current."""
    for kind, names in ((CDS, ()), (LDS, ())):
        await client.get(kind, *names)
        await asyncio.sleep(0.05)
        assert server.status.converged("edge").current == 0
    await client.get(RDS, "brownout")
    await eventually(lambda: server.status.converged("edge").converged)


async def test_an_envoy_with_two_streams(
    clients: Clients, world: World, delta: bool, server: XdsServer
) -> None:
    """An Envoy that asks for its listeners and for its clusters apart is one node, as far as both are."""
    status = server.status
    told: list[tuple[str, str]] = []
    listener = asyncio.create_task(_listen(server, told))
    await asyncio.sleep(0)
    async with clients.open(delta=delta, service=EXTENSIONS) as one:
        await one.get(ECDS, "brownout")
        async with clients.open(delta=delta, service=EXTENSIONS) as two:
            await two.ask(ECDS, "brownout")
            pending = await two.recv(ECDS)
            (node,) = status.nodes()
            assert node.id == "n1"
            assert node.acknowledged.keys() == {"ecds"}
            reached = status.converged("edge")
            assert (reached.nodes, reached.current) == (1, 0)
            await two.nack(pending, "odd")
            await eventually(lambda: status.converged("edge").rejecting == 1)
            (node,) = status.nodes()
            assert node.rejected["ecds"].text == "odd"

            before = world.catalog.revision
            await world.commit(halts=["edge"])
            await one.next(ECDS)
            pending = await two.recv(ECDS)
            assert status.converged("edge").current == 0
            await two.ack(pending)
            await eventually(lambda: status.converged("edge").converged)
            (node,) = status.nodes()
            assert node.acknowledged["ecds"].revision == before + 1
        await eventually(lambda: len(status.sessions("edge")) == 1)
        (node,) = status.nodes()
        assert node.connected
    await eventually(lambda: not status.nodes()[0].connected)
    assert len(status.nodes()) == 1
    await eventually(lambda: ("disconnected", "n1") in told)
    assert [kind for kind, _ in told].count("connected") == 1
    listener.cancel()


@pytest.mark.parametrize("service", [AGGREGATED, EXTENSIONS])
async def test_two_envoys(
    clients: Clients, world: World, delta: bool, server: XdsServer, service: tuple[str, str]
) -> None:
    """Two aggregated streams of one id are two Envoys, listed twice; so are streams of two ids."""
    other = "n1" if service == AGGREGATED else "n2"
    async with (
        clients.open(delta=delta, service=service) as one,
        clients.open(delta=delta, service=service, node_id=other) as two,
    ):
        for client in (one, two):
            await client.get(ECDS, "brownout")
        await eventually(lambda: server.status.converged("edge").current == 2)
        assert [each.id for each in server.status.nodes()] == ["n1", other]


async def test_nodes_that_left(clients: Clients, world: World, delta: bool, server: XdsServer) -> None:
    """A node is listed a while after its stream has ended; when it comes back, once."""
    async with clients.open(delta=delta) as client:
        await client.get(RDS, "brownout")
    await eventually(lambda: not server.status.nodes()[0].connected)
    (gone,) = server.status.nodes()
    assert gone.acknowledged.keys() == {"rds"}
    assert server.status.converged("edge").nodes == 0
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        (back,) = server.status.nodes()
        assert back.connected
        assert back.since > gone.since


async def test_nodes_are_forgotten(world: World, delta: bool) -> None:
    """After a while, or when there are too many, those that left first are forgotten, and that is told."""
    server = XdsServer(options=Options(remember=timedelta(seconds=0.3), remember_count=3))
    world.connect(server)
    clients = Clients(await server.start("127.0.0.1", 0))
    try:
        await world.published()
        told: list[tuple[str, str]] = []
        listener = asyncio.create_task(_listen(server, told))
        for index in range(5):
            async with clients.open(delta=delta, node_id=f"n{index}") as client:
                await client.get(CDS)
            await eventually(lambda: not any(each.connected for each in server.status.nodes()))
        assert [each.id for each in server.status.nodes()] == ["n2", "n3", "n4"]
        await eventually(lambda: server.status.nodes() == [])
        await eventually(lambda: ("forgotten", "n4") in told)
        listener.cancel()
    finally:
        await server.stop(0.1)


async def _listen(server: XdsServer, told: list[tuple[str, str]]) -> None:
    async for event in server.status.events():
        told += [(event.kind, event.node.id)]


async def test_events(clients: Clients, world: World, delta: bool, server: XdsServer) -> None:
    """Connects, ACKs, NACKs and disconnects are told as they happen, with the node's state afterwards."""
    events: list[NodeEvent] = []

    async def listen() -> None:
        async for event in server.status.events():
            events[:] = [*events, event]

    listener = asyncio.create_task(listen())
    await asyncio.sleep(0)
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        await client.ask(RDS, "brownout")
        await client.nack(await client.recv(RDS), "odd")
        await eventually(lambda: [each.kind for each in events][-1:] == ["rejected"])
    await eventually(lambda: [each.kind for each in events][-1:] == ["disconnected"])
    assert [each.kind for each in events] == ["connected", "acknowledged", "rejected", "disconnected"]
    assert events[1].node.acknowledged.keys() == {"cds"}
    assert events[2].node.rejected["rds"].text == "odd"
    listener.cancel()


async def test_a_revision_that_changes_nothing_is_told(
    client: Client, world: World, server: XdsServer
) -> None:
    """Whoever waits for a revision hears of it also when it changed nothing of what nodes get."""
    await subscribe(client)
    told: list[tuple[str, str]] = []
    listener = asyncio.create_task(_listen(server, told))
    await eventually(lambda: server.status.converged("edge").converged)
    told.clear()
    await world.commit(endpoint("a"))
    await eventually(lambda: told == [("acknowledged", "n1")])
    listener.cancel()


async def test_slow_event_reader(clients: Clients, world: World, server: XdsServer) -> None:
    """A reader that falls behind misses the oldest events, and costs bounded memory."""
    events = server.status.events()
    assert isinstance(events, AsyncGenerator)
    first = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    async with clients.open(delta=False) as client:
        await client.get(CDS)
        assert (await first).kind == "connected"
        session = server.status.sessions("edge")
        for _ in range(10_000):
            server.status.tell("acknowledged", session)
        (queue,) = server.status._readers
        assert queue.qsize() <= 4096
    await events.aclose()
    assert not server.status._readers


async def test_finding(
    client: Client, world: World, server: XdsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside Envoy's text stands what our own check finds of what was sent: the endpoint and the field."""
    await world.commit(profile(spec=SLOW), endpoint("b", fault={"profile": "slow"}))
    await client.ask(RDS, "brownout")
    monkeypatch.setattr(
        "xds_server.finding.load_route_config",
        lambda raw: load_route_config(raw.replace(b'"status":200', b'"status":999')),
    )
    await client.nack(await client.recv(RDS), "Failed to initialize per-route dynamic module")
    await eventually(lambda: [each for each in server.status.nodes()[0].rejected.values() if each.finding])
    found = server.status.nodes()[0].rejected["rds"]
    assert found.text == "Failed to initialize per-route dynamic module"
    assert found.finding is not None
    assert found.finding.startswith("endpoint b: responses[0].status: ")


async def test_finding_of_an_old_module(
    clients: Clients, world: World, delta: bool, server: XdsServer
) -> None:
    """A module that reads an older schema is named as such; where nothing is found, nothing is said."""
    for version, expected in ((0, "its module reads schema 0"), (1, None)):
        node = _node(f"v{version}", brownout={"schema_version": version})
        async with clients.open(delta=delta, node=node) as client:
            await client.ask(ECDS, "brownout")
            await client.nack(await client.recv(ECDS))
            await client.get(CDS)
            await asyncio.sleep(0.05)
            (status,) = (each for each in server.status.nodes() if each.id == f"v{version}")
            finding = status.rejected["ecds"].finding
            assert (finding or "").startswith(expected or "")
            assert (finding is None) is (expected is None)


async def test_metrics(world: World, delta: bool) -> None:
    """Streams, responses, bytes, ACKs, NACKs and times are counted for Prometheus."""
    metrics = CollectorRegistry()
    server = XdsServer(registry=metrics)
    world.connect(server)
    clients = Clients(await server.start("127.0.0.1", 0))

    def value(name: str, **labels: str) -> float:
        return metrics.get_sample_value(f"brownout_xds_{name}", labels) or 0.0

    try:
        await world.published()
        variant = "delta" if delta else "sotw"
        async with clients.open(delta=delta) as client:
            await client.get(CDS)
            await client.ask(RDS, "brownout")
            await client.nack(await client.recv(RDS))
            await world.commit(upstream("a", connect_timeout="9s"))
            await client.next(CDS)
            await eventually(lambda: value("acks_total", type="cds") == 2)
            assert value("streams", variant=variant) == 1
            assert value("pushes_total", type="cds") == 2
            assert value("nacks_total", type="rds") == 1
            assert value("sent_bytes_total", type="cds") > 500
            assert value("ack_seconds_count", type="cds") == 2
            assert value("push_seconds_count") == 1
            assert value("queue_depth") == 0
            assert value("compile_seconds_count") == 2
        await eventually(lambda: value("streams", variant=variant) == 0)
    finally:
        await server.stop(0.1)
