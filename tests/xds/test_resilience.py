"""Rows of the protocol about clients that misbehave, and what must not suffer from them."""

import asyncio
import gc
from pathlib import Path
from typing import Self

import grpc
import pytest

from brownout.domain import Endpoint
from tests.xds.client import Client, Clients, eventually
from tests.xds.test_changes import subscribe
from tests.xds.world import World, endpoint, upstream
from xds_server import Options, XdsServer
from xds_server.types import CDS, LDS, RDS


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


_SMALL_WINDOW = {"grpc.http2.lookahead_bytes": 65_535, "grpc.http2.bdp_probe": 0}


async def test_client_that_stops_reading(
    clients: Clients, world: World, delta: bool, server: XdsServer
) -> None:
    """While 100 updates happen: others are not affected, memory is bounded, and it gets only the newest."""
    filler = "x" * 200_000
    async with (
        clients.open(delta=delta, options=_SMALL_WINDOW) as slow,
        clients.open(delta=delta, node_id="n2") as other,
    ):
        await slow.get(RDS, "brownout")
        await other.get(RDS, "brownout")
        memory = resident()
        for index in range(100):
            await world.commit(endpoint("c", "a", match={"prefix": f"/{index:03}{filler}"}))
            assert f"/{index:03}".encode() in (await other.next(RDS)).resources["brownout"]
        grown = resident() - memory
        assert grown < 100 * len(filler), f"{grown} bytes for 100 updates of {len(filler)}"
        first = await slow.next(RDS)
        assert b"/000" in first.resources["brownout"]
        assert b"/099" in (await slow.next(RDS)).resources["brownout"]
        await slow.quiet()


async def test_a_thousand_connects(clients: Clients, world: World, delta: bool, server: XdsServer) -> None:
    """1,000 connect and drop cycles leave tasks, streams and memory where they were."""
    options = Options(remember_count=10)
    server.status._options = options

    async def cycle(count: int) -> None:
        for index in range(count):
            async with clients.open(delta=delta, node_id=f"n{index}") as client:
                await client.ask(CDS)
                await client.recv(CDS)

    await cycle(50)
    await _nobody(server)
    gc.collect()
    tasks, memory = len(asyncio.all_tasks()), resident()
    await cycle(1000)
    await _nobody(server)
    gc.collect()
    assert len(asyncio.all_tasks()) <= tasks
    assert not server._connections
    assert len(server.status.nodes()) <= options.remember_count
    assert resident() - memory < 30_000_000


async def _nobody(server: XdsServer) -> None:
    """Wait until no stream is open."""
    await eventually(lambda: not server._connections)


async def test_bad_entry(client: Client, world: World, server: XdsServer) -> None:
    """One entry that cannot be compiled is left out and reported, the others are delivered."""
    await subscribe(client)
    bad = Endpoint.model_construct(**(dict(endpoint("bad", "a")) | {"timeout": "soon"}))
    await world.commit(bad, endpoint("good", "a"))
    routes = (await client.next(RDS)).resources["brownout"]
    assert b"/good" in routes
    assert b"/bad" not in routes
    assert any("bad" in each for each in server.problems("edge"))
    await world.commit(endpoint("bad", "a"))
    assert b"/bad" in (await client.next(RDS)).resources["brownout"]
    assert server.problems("edge") == ()


async def test_missing_parts(client: Client, world: World, server: XdsServer) -> None:
    """A profile or upstream that is damaged: its endpoints inject nothing, or answer 503.

    The others go on.
    """
    await client.get(CDS)
    await client.get(RDS, "brownout")
    await world.commit(remove=[("profile", "slow"), ("upstream", "a")])
    routes = (await client.next(RDS)).resources["brownout"]
    assert b"slow@" not in routes
    assert b"/a" in routes
    clusters = await client.next(CDS)
    assert (clusters.names, clusters.removed) == (([], ("a",)) if client.delta else (["b"], ()))
    assert len(server.problems("edge")) == 2


async def test_failing_stream_does_not_stop_a_publish(clients: Clients, world: World, delta: bool) -> None:
    """Streams that break in the middle of a publish leave the others alone."""
    async with clients.open(delta=delta) as good:
        await good.get(LDS)
        await good.get(RDS, "brownout")
        for index in range(20):
            async with clients.open(delta=delta, node_id="bad") as bad:
                await bad.ask(RDS, "brownout")
                world.change(endpoint("c", "a", match={"prefix": f"/c{index}"}))
                await bad.send(b"\xff\xff\xff")
            await world.published()
            assert f"/c{index}".encode() in (await good.next(RDS)).resources["brownout"]


async def test_idle_streams_survive_keepalive(world: World, delta: bool) -> None:
    """An idle stream outlives many keepalive pings, its own and the server's."""
    server = XdsServer(options=Options(keepalive=0.2, keepalive_timeout=0.2))
    world.connect(server)
    port = await server.start("127.0.0.1", 0)
    try:
        await world.published()
        options = {
            "grpc.keepalive_time_ms": 200,
            "grpc.keepalive_timeout_ms": 200,
            "grpc.http2.max_pings_without_data": 0,
        }
        async with Clients(port).open(delta=delta, options=options) as client:
            await client.get(CDS)
            await client.quiet(2.5)
            await world.commit(upstream("a", connect_timeout="3s"))
            await client.next(CDS)
    finally:
        await server.stop(0.1)


async def test_dead_peers_are_reaped(world: World) -> None:
    """A peer that no longer answers pings is dropped, and listed as disconnected."""
    server = XdsServer(options=Options(keepalive=0.3, keepalive_timeout=0.3))
    world.connect(server)
    port = await server.start("127.0.0.1", 0)
    try:
        await world.published()
        async with _Relay(port) as relay, Clients(relay.port).open(delta=False) as client:
            await client.get(CDS)
            assert server.status.nodes()[0].connected
            relay.deaf = True
            await eventually(lambda: not server.status.nodes()[0].connected)
    finally:
        await server.stop(0.1)


class _Relay:
    """A TCP relay that can stop passing anything on while it keeps its connections."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.deaf = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._target)
        for source, sink in ((reader, forth), (back, writer)):
            self._tasks.add(asyncio.create_task(self._pass_on(source, sink)))

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                if not self.deaf:
                    sink.write(data)
        finally:
            sink.close()


async def test_stop_is_quick_and_says_why(
    clients: Clients, world: World, delta: bool, server: XdsServer
) -> None:
    """A server that stops ends its streams with UNAVAILABLE at once, so that Envoys go to another replica."""
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await server.stop(5)
        assert loop.time() - before < 2
        code, details = await client.ended()
        assert code is grpc.StatusCode.UNAVAILABLE
        assert "shutting down" in details


async def test_port_in_use(world: World, clients: Clients) -> None:
    """A port that is taken is an error that names it."""
    port = int(clients.target.rpartition(":")[2])
    with pytest.raises(OSError, match=str(port)):
        await XdsServer().start("127.0.0.1", port)


async def test_server_lost_while_a_client_sends(clients: Clients, world: World, delta: bool) -> None:
    """Requests in a hurry: all are taken, in order."""
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        for index in range(200):
            await client.ask(RDS, "brownout") if index % 2 == 0 else await client.ask(RDS)
        await client.ask(RDS, "brownout")
        assert (await client.next(RDS)).names == ["brownout"]
