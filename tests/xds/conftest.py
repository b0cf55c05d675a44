"""A server on a free port, a configuration, and clients of both variants."""

from collections.abc import AsyncIterator

import pytest

from tests.xds.client import Client, Clients
from tests.xds.world import World, endpoint, gateway, profile, upstream
from xds_server import Options, XdsServer


@pytest.fixture(params=[False, True], ids=["sotw", "delta"])
def delta(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def server() -> AsyncIterator[XdsServer]:
    """A server without a configuration."""
    server = XdsServer(options=Options())
    yield server
    await server.stop(0.1)


@pytest.fixture
async def clients(server: XdsServer) -> Clients:
    return Clients(await server.start("127.0.0.1", 0))


@pytest.fixture
async def world(server: XdsServer, clients: Clients) -> World:
    """A gateway fleet `edge` with endpoints `a` and `b`, each on its own upstream, and a profile `slow`."""
    world = World()
    world.connect(server)
    await world.commit(
        gateway(),
        upstream("a"),
        upstream("b"),
        profile(),
        endpoint("a"),
        endpoint("b", fault={"profile": "slow"}),
    )
    return world


@pytest.fixture
async def client(clients: Clients, world: World, delta: bool) -> AsyncIterator[Client]:
    """A stream of a node of `edge`."""
    async with clients.open(delta=delta) as client:
        yield client


@pytest.fixture
async def sotw(clients: Clients, world: World) -> AsyncIterator[Client]:
    """A state-of-the-world stream of a node of `edge`."""
    async with clients.open(delta=False) as client:
        yield client


@pytest.fixture
async def incremental(clients: Clients, world: World) -> AsyncIterator[Client]:
    """An incremental stream of a node of `edge`."""
    async with clients.open(delta=True) as client:
        yield client
