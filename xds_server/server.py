"""The server: gRPC around the hub."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Protocol

import grpc
from prometheus_client import CollectorRegistry

from brownout.domain import Catalog
from xds_server.connection import Connection, StreamEnd
from xds_server.finding import Findings
from xds_server.hub import Hub
from xds_server.metrics import Metrics
from xds_server.opening import identify, parse
from xds_server.options import Options
from xds_server.protocol.state import TypeState, Verdict
from xds_server.publisher import Publisher
from xds_server.registry import Registry
from xds_server.session import Session
from xds_server.tls import Certificates
from xds_server.transport import Context, GrpcTransport

_log = logging.getLogger(__name__)

_AGGREGATED = "envoy.service.discovery.v3.AggregatedDiscoveryService"
_SERVICES = {
    _AGGREGATED: "AggregatedResources",
    # An Envoy of a `filter` fleet asks by this one, for its listeners and for its clusters: its only ADS may
    # be another control plane's.
    "envoy.service.extension.v3.ExtensionConfigDiscoveryService": "ExtensionConfigs",
}
_STOPPING = "the server is shutting down"


class Feed(Protocol):
    """Where catalogs come from."""

    def subscribe(self) -> AsyncIterator[Catalog]:
        """Yield the latest catalog, then the newest after each change."""
        ...


class XdsServer:
    """Serves the aggregated discovery service in both variants; belongs to one event loop.

    Attributes:
        status: What is known of the nodes (`brownout.ports.FleetStatus`).
    """

    def __init__(
        self,
        feed: Feed | None = None,
        *,
        options: Options | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            feed: Where catalogs come from; without one, they come by `publish`.
            options: How connections and nodes are treated.
            registry: Where its metrics go.
        """
        self._feed = feed
        self._options = options or Options()
        self._metrics = Metrics(registry or CollectorRegistry())
        self._hub = Hub()
        self.status = Registry(self._hub, self._options)
        self._publisher = Publisher(self._hub, self.status, self._metrics)
        self._findings = Findings()
        self._nonces = itertools.count(1)
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: grpc.aio.Server | None = None
        self._stopping = False

    @property
    def loaded(self) -> bool:
        """Whether it has configuration to serve; before, Envoys are told to come again."""
        return self._hub.loaded

    # -- its life

    async def start(self, host: str, port: int) -> int:
        """Listen; return the port, which is another one only when `port` is 0.

        Raises:
            OSError: The address cannot be used.
            TlsError: The TLS material cannot be used.
        """
        server = grpc.aio.server(options=self._options.channel_arguments())
        for service, resources in _SERVICES.items():
            aggregated = service == _AGGREGATED
            methods = {
                f"Stream{resources}": self._handler(delta=False, aggregated=aggregated),
                f"Delta{resources}": self._handler(delta=True, aggregated=aggregated),
            }
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if self._options.tls is None:
                bound: int = server.add_insecure_port(where)
            else:
                certificates = Certificates(self._options.tls)
                self._spawn(certificates.watch())
                bound = server.add_secure_port(where, certificates.credentials())
        except RuntimeError as error:
            raise OSError(f"cannot listen on {where}: {error}") from None
        await server.start()
        self._server = server
        self._spawn(self._publisher.run())
        if self._feed is not None:
            self._spawn(self._follow(self._feed))
        return bound

    async def stop(self, grace: float = 1.0) -> None:
        """End all streams with UNAVAILABLE, so that Envoys go to another replica, then the server.

        Args:
            grace: Seconds for a client that does not read what it is being sent.
        """
        self._stopping = True
        for connection in list(self._connections):
            connection.close(StreamEnd(grpc.StatusCode.UNAVAILABLE, _STOPPING))
        if self._server is not None:
            await self._server.stop(grace)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def publish(self, catalog: Catalog) -> None:
        """Deliver a catalog; never waits."""
        self._publisher.publish(catalog)

    def problems(self, fleet: str) -> tuple[str, ...]:
        """Return what of a fleet could not be compiled and is not delivered, and why."""
        return self._hub.problems(fleet)

    async def _follow(self, feed: Feed) -> None:
        async for catalog in feed.subscribe():
            self.publish(catalog)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task of the xDS server failed", exc_info=error)

    # -- streams

    def _handler(self, *, delta: bool, aggregated: bool) -> grpc.RpcMethodHandler:
        async def stream(_requests: object, context: Context) -> None:
            await self._stream(context, delta=delta, aggregated=aggregated)

        return grpc.stream_stream_rpc_method_handler(stream)

    async def _stream(self, context: Context, *, delta: bool, aggregated: bool) -> None:
        transport = GrpcTransport(context)
        connection = Connection(transport, self._metrics, self._nonce)
        self._connections.add(connection)
        self._metrics.streams[delta].inc()
        try:
            await self._serve(connection, transport, delta=delta, aggregated=aggregated)
        except StreamEnd as end:
            await context.abort(end.code, end.details)
        finally:
            self._connections.discard(connection)
            self._metrics.streams[delta].dec()

    async def _serve(
        self, connection: Connection, transport: GrpcTransport, *, delta: bool, aggregated: bool
    ) -> None:
        if self._stopping:
            raise StreamEnd(grpc.StatusCode.UNAVAILABLE, _STOPPING)
        if not self._hub.loaded:
            # An empty answer would be taken for "there are no listeners".
            raise StreamEnd(grpc.StatusCode.UNAVAILABLE, "the configuration is not loaded yet")
        first = await transport.read()
        if first is None:
            return
        request = parse(first, delta=delta)
        node = identify(request)
        names = transport.peer_names()
        if (why := self._hub.admission.refusal(node.fleet, names)) is not None:
            self._metrics.refused.inc()
            self.status.refuse(node.refused(why))
            raise StreamEnd(grpc.StatusCode.PERMISSION_DENIED, why)
        channel = self._hub.channel(node.fleet)
        session = Session(node, names, channel, connection, delta=delta, aggregated=aggregated)
        self._hub.join(session)
        self.status.enter(session)
        try:
            session.take(request)
            del first, request  # an Envoy's first request has 61 KB, or megabytes of versions
            await connection.run(session, lambda state, verdict: self._settled(session, state, verdict))
        finally:
            self._hub.leave(session)
            self.status.leave(session)

    def _nonce(self) -> str:
        return format(next(self._nonces), "x")

    def _settled(self, session: Session, state: TypeState, verdict: Verdict) -> None:
        """Count and tell an ACK or a NACK."""
        kind = state.kind
        if (sent := session.sent(kind)) is not None:
            self._metrics.latency[kind].observe(asyncio.get_running_loop().time() - sent.at)
        if verdict is Verdict.ACKED:
            self._metrics.acks[kind].inc()
            self.status.tell("acknowledged", [session])
            return
        self._metrics.nacks[kind].inc()
        self._spawn(self._look_into(session, state))

    async def _look_into(self, session: Session, state: TypeState) -> None:
        """Find out what is wrong with a rejected response, and tell the rejection."""
        node = session.node
        if state.sent is not None:
            session.found(state.kind, await self._findings.of(node, state.kind, state.sent))
        _log.warning("%s of fleet %s rejects %s: %s", node.id, node.fleet, state.kind.key, state.error)
        self.status.tell("rejected", [session])
