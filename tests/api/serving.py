"""REST on a free loopback port: real uvicorn, real SQLite; only the Envoys are made up."""

import asyncio
import functools
import math
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import uvicorn
from prometheus_client import CollectorRegistry, Counter

from api import Api, create_app
from brownout.ports import Acknowledged, Convergence, NodeEvent, NodeStatus, Rejection
from brownout.service import Service
from brownout.store import Store
from migrations import migrate

T = TypeVar("T")

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


@functools.cache
def _empty_database() -> bytes:
    """A migrated SQLite file without content: migrating it for each test would take longer than the test."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "brownout.db")
        migrate(f"sqlite:///{file}")
        return file.read_bytes()


class Nodes:
    """The port `FleetStatus`, made up: nodes that acknowledge when they are told to."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], NodeStatus] = {}
        self.revision = 0
        self._queues: list[asyncio.Queue[NodeEvent]] = []

    def nodes(self, fleet: str | None = None) -> Sequence[NodeStatus]:
        """Those that were made up."""
        return [each for each in self.known.values() if fleet in (None, each.fleet)]

    def converged(self, fleet: str) -> Convergence:
        """Current is who acknowledged `revision` of the routes."""
        connected = [each for each in self.nodes(fleet) if each.connected]
        current = [each for each in connected if each.acknowledged["rds"].revision >= self.revision]
        return Convergence(
            self.revision, len(connected), len(current), sum(1 for each in connected if each.rejected)
        )

    async def events(self) -> AsyncIterator[NodeEvent]:
        """What is put by `put`, from now on."""
        queue: asyncio.Queue[NodeEvent] = asyncio.Queue()
        self._queues.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.remove(queue)

    def put(self, fleet: str, name: str, revision: int, *, rejected: bool = False) -> None:
        """A node acknowledges or rejects a revision."""
        refusal = {"rds": Rejection("Failed to initialize", "routes[0]: no such profile", NOON)}
        node = NodeStatus(
            id=name,
            fleet=fleet,
            connected=True,
            since=NOON,
            version="1.40.0",
            locality={"region": "eu"},
            metadata={"brownout": {"schema_version": 1.0}, "weights": [0.5, 2.0], "odd": math.nan},
            schema_version=1,
            acknowledged={"rds": Acknowledged("v", revision, NOON)},
            rejected=refusal if rejected else {},  # type: ignore[arg-type]  # a literal's key
        )
        self.known[fleet, name] = node
        for queue in self._queues:
            queue.put_nowait(NodeEvent("rejected" if rejected else "acknowledged", node))

    def keep_out(self, fleet: str, name: str, why: str) -> None:
        """A node is refused."""
        node = NodeStatus(id=name, fleet=fleet, connected=False, since=NOON, refused=why)
        self.known[fleet, name] = node
        for queue in self._queues:
            queue.put_nowait(NodeEvent("refused", node))


class RestServer:
    """A server in a thread of its own, for tests that talk HTTP to it.

    Attributes:
        url: its base URL.
        database: the SQLite file.
        http: a client of it.
        nodes: the made-up Envoys.
        service: the service layer (use it by `run`).
        app: the application.
        ready: the checks of `/readyz`.
    """

    def __init__(self, folder: Path, *, loopback_only: bool = True) -> None:
        self.database = folder / "brownout.db"
        self._loopback_only = loopback_only
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.nodes = Nodes()
        self.ready = {"store": True}
        self.service: Service
        self.app: Api

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await something in the server's event loop."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(30)

    def soon(self, work: Callable[[], None]) -> None:
        """Call something in the server's event loop."""
        self._loop.call_soon_threadsafe(work)

    def __enter__(self) -> Self:
        if not self.database.exists():
            self.database.write_bytes(_empty_database())
        self._thread.start()
        self.run(self._start)
        self.http = httpx.Client(base_url=self.url, timeout=30)
        return self

    async def _start(self) -> None:
        self.service = Service(await asyncio.to_thread(Store, str(self.database)))
        await self.service.start()
        registry = CollectorRegistry()
        Counter("brownout_pushes", "pushes", registry=registry).inc()
        self.app = create_app(
            self.service,
            self.nodes,
            self.service.feed,
            registry=registry,
            version="0.1.0",
            ready=lambda: self.ready,
            loopback_only=self._loopback_only,
        )
        config = uvicorn.Config(self.app, lifespan="off", log_config=None, access_log=False)
        self.server = uvicorn.Server(config)
        self.serving = asyncio.create_task(self.server._serve([self._listener]))

    async def _stop(self) -> None:
        self.app.streams.end()
        self.server.should_exit = True
        await self.serving
        await self.service.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()
        self.run(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._listener.close()
