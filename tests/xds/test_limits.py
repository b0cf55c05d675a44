"""What a client may ask of the server at most."""

import asyncio
import time
from pathlib import Path

import grpc
import pytest

from tests.support.certificates import Authority
from tests.xds.client import Clients
from tests.xds.world import World
from xds_server import Options, ServerTls, XdsServer
from xds_server.types import CDS, EDS


async def test_request_that_is_too_large(world: World, delta: bool) -> None:
    """It ends its own stream, with a status that says so; others are served."""
    server = XdsServer(options=Options(max_request_bytes=10_000))
    world.connect(server)
    clients = Clients(await server.start("127.0.0.1", 0))
    await world.published()
    async with clients.open(delta=delta, node_id="n1") as large, clients.open(delta=delta) as other:
        await large.get(CDS)
        await large.ask(EDS, *(f"cluster-{number}" for number in range(1000)))
        assert (await large.ended())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        await other.get(CDS)
    await server.stop(0.1)


@pytest.mark.parametrize("secure", [False, True])
async def test_connection_that_says_nothing(secure: bool, tmp_path: Path) -> None:
    """It is closed after a while."""
    issued = Authority(tmp_path).issue("server", "127.0.0.1")
    tls = ServerTls(issued.certificate, issued.key) if secure else None
    server = XdsServer(options=Options(tls=tls, handshake_timeout=0.2))
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.monotonic()
    async with asyncio.timeout(10):
        await reader.read(-1)
    assert time.monotonic() - begin > 0.1
    writer.close()
    await server.stop(0.1)
