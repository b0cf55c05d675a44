"""A server, a configuration and real Envoys of it, in both variants."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import pytest

from brownout_cli.addresses import Address
from brownout_cli.bootstrap import NodeIdentity, bootstrap
from tests.support import Behaviour, EnvoyProcess, Upstream, free_port
from tests.xds.client import eventually
from tests.xds.world import World
from xds_server import XdsServer


class Stage:
    """Everything a test on Envoy needs: `world` is published to `server`, Envoys connect to it."""

    def __init__(self, server: XdsServer, port: int, protocol: Literal["delta", "sotw"]) -> None:
        self.server = server
        self.xds = Address("127.0.0.1", port)
        self.protocol = protocol
        self.world = World()
        self.world.connect(server)
        self.listen = free_port()

    def bootstrap(
        self, node: str = "n1", *, locality: tuple[str, ...] = (), metadata: Any = None, **options: Any
    ) -> dict[str, Any]:
        return bootstrap(
            NodeIdentity(node, "edge", locality=locality, metadata=metadata or {}),
            [self.xds],
            protocol=self.protocol,
            admin=Address("127.0.0.1", 0),
            **options,
        )

    def envoy(self, node: str = "n1", *, process: Any = None, **options: Any) -> EnvoyProcess:
        return EnvoyProcess(self.bootstrap(node, **options), **(process or {}))

    async def converged(self, nodes: int = 1) -> None:
        """Wait until that many Envoys have all."""

        def there() -> bool:
            reached = self.server.status.converged("edge")
            everything = reached.revision == self.world.catalog.revision and reached.converged
            return everything and reached.nodes >= nodes

        await eventually(there, 30)

    async def restart(self) -> None:
        """Replace the server by a new one on the same port, which gets the same configuration."""
        await self.server.stop(0.1)
        self.server = XdsServer()
        await self.server.start("127.0.0.1", self.xds.port)
        self.world._servers = [self.server]
        self.server.publish(self.world.catalog)


@pytest.fixture(params=["delta", "sotw"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def stage(protocol: Any) -> AsyncIterator[Stage]:
    server = XdsServer()
    stage = Stage(server, await server.start("127.0.0.1", 0), protocol)
    yield stage
    await stage.server.stop(0.2)


@pytest.fixture(scope="module")
def one() -> Iterator[Upstream]:
    """An upstream that answers with `one`, and tells what it was asked under `/echo`."""
    with Upstream({"/echo": Behaviour(echo=True)}, default=Behaviour(body=b"one")) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def two() -> Iterator[Upstream]:
    """An upstream that answers with `two`."""
    with Upstream(default=Behaviour(body=b"two")) as upstream:
        yield upstream
