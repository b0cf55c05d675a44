"""The composition root: store, service, xDS and REST of one process, on one event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import CollectorRegistry

from api.app import create_app
from brownout.ports import FleetStatus
from brownout.service import POLL_SECONDS, Service
from brownout.store import Store
from brownout_cli.addresses import Address
from brownout_cli.serving import HttpServer
from xds_server import Options, ServerTls, XdsServer

_XDS_GRACE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane.

    Attributes:
        rest: where REST is.
        xds: where Envoys connect.
        service: every use of the configuration.
        status: what is known of the Envoys.
        http_task: serves REST; ends early only with an error.
    """

    rest: Address
    xds: Address
    service: Service
    status: FleetStatus
    http_task: asyncio.Task[None]


@asynccontextmanager
async def control_plane(
    database: str,
    http: socket.socket,
    xds: Address,
    *,
    poll_seconds: float = POLL_SECONDS,
    tls: ServerTls | None = None,
) -> AsyncIterator[ControlPlane]:
    """Run a control plane until the block is left.

    The end is quick: event streams go first (an HTTP server waits for open connections), then REST, then the
    streams of Envoys.

    Args:
        database: URL or SQLite path; its schema must be this version's.
        http: the listening socket of REST.
        xds: where to listen for Envoys.
        poll_seconds: how long a lost notification of another replica may stay unnoticed.
        tls: what to speak to Envoys with; None is plain text.

    Raises:
        StoreError: the database cannot be used.
        TlsError: a file of `tls` cannot be used.
    """
    async with AsyncExitStack() as stack:
        store = await asyncio.to_thread(Store, database)
        service = await stack.enter_async_context(Service(store, poll_seconds=poll_seconds))
        registry = CollectorRegistry()
        server = XdsServer(service.feed, options=Options(tls=tls), registry=registry)
        # Before there is another thread: making it, FastAPI changes the filters of warnings, which all share.
        app = create_app(
            service,
            server.status,
            service.feed,
            registry=registry,
            version=version("brownout"),
            ready=lambda: {"xds": server.loaded},
        )
        port = await server.start(xds.host, xds.port)
        stack.push_async_callback(server.stop, _XDS_GRACE_SECONDS)
        rest = HttpServer(app)
        task = await rest.start(http)

        async def end_rest() -> None:
            app.streams.end()
            rest.should_exit = True
            await asyncio.wait([task])

        stack.push_async_callback(end_rest)
        host, number = http.getsockname()[:2]
        yield ControlPlane(Address(host, number), Address(xds.host, port), service, server.status, task)
