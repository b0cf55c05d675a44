"""A client of the aggregated discovery service that knows the protocol's rules.

And fails when one is broken.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
from envoy_data_plane.envoy.config.core.v3 import Node
from envoy_data_plane.envoy.service.discovery.v3 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
    DiscoveryRequest,
    DiscoveryResponse,
)
from envoy_data_plane.google.rpc import Status

from xds_server.types import BY_URL, EDS, TypeInfo

AGGREGATED = ("envoy.service.discovery.v3.AggregatedDiscoveryService", "AggregatedResources")
EXTENSIONS = ("envoy.service.extension.v3.ExtensionConfigDiscoveryService", "ExtensionConfigs")
SERVICE = f"/{AGGREGATED[0]}/"
QUIET = 0.25
"""Seconds in which nothing must arrive; what is due arrives within milliseconds."""
PATIENCE = 10.0


@dataclass(frozen=True)
class Reply:
    """A response: the content of every resource, in delta its version, and the names that are gone."""

    kind: TypeInfo
    nonce: str
    version: str
    resources: Mapping[str, bytes]
    versions: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return sorted(self.resources)


@dataclass
class Asked:
    """What the client has asked for, of one type."""

    names: frozenset[str] = frozenset()
    ever_named: bool = False
    active: bool = False
    unanswered: Reply | None = None
    accepted: str = ""
    nonce: str = ""
    rejected: Reply | None = None
    asked_since: frozenset[str] = frozenset()

    @property
    def wildcard(self) -> bool:
        return "*" in self.names or (self.active and not self.ever_named)


class Client:
    """One stream. `delta` chooses the variant; the calls are the same for both.

    The recorder is in `recv`: no name twice in a response, no nonce twice, nothing that was not asked for,
    no second response before the first is answered, and after a NACK nothing that was rejected already.
    """

    def __init__(self, call: Any, node: Node, *, delta: bool) -> None:
        self.call = call
        self.node: Node | None = node
        self.delta = delta
        self.asked: dict[TypeInfo, Asked] = {}
        self.nonces: set[str] = set()
        self.has: dict[TypeInfo, dict[str, bytes]] = {}

    # -- requests

    async def ask(self, kind: TypeInfo, *names: str, initial: Mapping[str, str] | None = None) -> None:
        """Want `names` of a type from now on, and nothing else of it."""
        asked = self.asked.setdefault(kind, Asked())
        before, asked.names = asked.names, frozenset(names)
        asked.asked_since |= asked.names - before
        asked.ever_named = asked.ever_named or bool(names)
        asked.active = True
        if self.delta:
            await self.send_delta(
                kind,
                resource_names_subscribe=sorted(asked.names - before),
                resource_names_unsubscribe=sorted(before - asked.names),
                initial_resource_versions=dict(initial or {}),
            )
        else:
            await self.send_sotw(kind)

    async def ask_again(self, kind: TypeInfo, *names: str) -> None:
        """Repeat the request for what was asked for already."""
        asked = self.asked[kind]
        asked.asked_since |= frozenset(names)
        if self.delta:
            await self.send_delta(kind, resource_names_subscribe=sorted(names))
        else:
            await self.send_sotw(kind)

    async def ack(self, reply: Reply) -> Reply:
        """Accept a response."""
        asked = self.asked[reply.kind]
        asked.unanswered = asked.rejected = None
        asked.accepted = reply.version
        await self._answer(reply)
        return reply

    async def nack(self, reply: Reply, text: str = "no") -> None:
        """Reject a response."""
        asked = self.asked[reply.kind]
        asked.unanswered, asked.rejected = None, reply
        await self._answer(reply, error_detail=Status(code=13, message=text))

    async def _answer(self, reply: Reply, **fields: Any) -> None:
        if self.delta:
            await self.send_delta(reply.kind, response_nonce=reply.nonce, **fields)
        else:
            await self.send_sotw(reply.kind, response_nonce=reply.nonce, **fields)

    async def send_sotw(self, kind: TypeInfo, **fields: Any) -> None:
        """Send a `DiscoveryRequest`: what was asked for, with the present nonce and version unless given."""
        asked = self.asked.setdefault(kind, Asked())
        request = DiscoveryRequest(
            type_url=kind.url,
            node=self.node,
            **{
                "resource_names": sorted(asked.names),
                "version_info": asked.accepted,
                "response_nonce": asked.nonce,
            }
            | fields,
        )
        await self.send(bytes(request))

    async def send_delta(self, kind: TypeInfo, **fields: Any) -> None:
        """Send a `DeltaDiscoveryRequest`."""
        await self.send(bytes(DeltaDiscoveryRequest(type_url=kind.url, node=self.node, **fields)))

    async def send(self, data: bytes) -> None:
        """Send bytes; the node is only in the first request."""
        self.node = None
        await self.call.write(data)

    # -- responses

    async def recv(self, kind: TypeInfo | None = None) -> Reply:
        """Return the next response, which has to be of type `kind`."""
        async with asyncio.timeout(PATIENCE):
            data = await self.call.read()
        if data is grpc.aio.EOF:
            raise AssertionError(f"the stream ended: {await self.call.code()} {await self.call.details()}")
        reply = _decode_delta(data) if self.delta else _decode_sotw(data)
        self._check(reply)
        assert kind in (None, reply.kind), f"expected {kind and kind.key}, got {reply.kind.key} {reply.names}"
        return reply

    async def get(self, kind: TypeInfo, *names: str) -> Reply:
        """Ask, receive and accept."""
        await self.ask(kind, *names)
        return await self.ack(await self.recv(kind))

    async def next(self, kind: TypeInfo) -> Reply:
        """Receive and accept."""
        return await self.ack(await self.recv(kind))

    async def quiet(self, seconds: float = QUIET) -> None:
        """Make sure that nothing arrives."""
        read = asyncio.ensure_future(self.call.read())
        done, _ = await asyncio.wait([read], timeout=seconds)
        if done:
            data = read.result()
            if data is grpc.aio.EOF:
                raise AssertionError(f"the stream ended: {await self.call.details()}")
            raise AssertionError(f"unexpected: {_decode_delta(data) if self.delta else _decode_sotw(data)}")
        self.call = _Resumed(self.call, read)

    async def ended(self) -> tuple[grpc.StatusCode, str]:
        """Wait for the end of the stream; return its status."""
        async with asyncio.timeout(PATIENCE):
            with suppress(grpc.aio.AioRpcError):
                while (await self.call.read()) is not grpc.aio.EOF:
                    pass
            return await self.call.code(), await self.call.details()

    def _check(self, reply: Reply) -> None:
        asked = self.asked.get(reply.kind)
        assert asked is not None, f"never asked for {reply.kind.key}"
        assert asked.active, f"never asked for {reply.kind.key}"
        assert reply.nonce, "a response without a nonce"
        assert reply.nonce not in self.nonces, f"nonce {reply.nonce} comes twice"
        self.nonces.add(reply.nonce)
        assert reply.version, "a response without a version"
        assert asked.unanswered is None, f"a second {reply.kind.key} response while one is unanswered"
        for name in (*reply.resources, *reply.removed):
            known = asked.wildcard or name in asked.names or name in asked.asked_since
            # One that was under way when the name was given up is no offence; a removal neither.
            assert known or name in self.has.get(reply.kind, {}), f"{reply.kind.key} {name} was not asked for"
        if asked.rejected is not None and not asked.asked_since:
            assert reply.removed or reply.resources != asked.rejected.resources, (
                f"{reply.kind.key} {reply.names} comes again, and was rejected as it is"
            )
        asked.unanswered, asked.nonce = reply, reply.nonce
        asked.asked_since = frozenset()
        held = self.has.setdefault(reply.kind, {})
        if not self.delta and reply.kind.full_state:
            held.clear()
        held.update(reply.resources)
        for name in reply.removed:
            held.pop(name, None)


class _Resumed:
    """A call with a read already under way."""

    def __init__(self, call: Any, read: "asyncio.Future[Any]") -> None:
        self._call = call
        self._read: asyncio.Future[Any] | None = read

    async def read(self) -> Any:
        if (read := self._read) is not None:
            self._read = None
            return await read
        return await self._call.read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def _decode_sotw(data: bytes) -> Reply:
    message = DiscoveryResponse.parse(data)
    kind = BY_URL[message.type_url]
    assert all(each.type_url == kind.url for each in message.resources)
    pairs = [(_name(kind, each), bytes(each.value)) for each in message.resources]
    assert len(dict(pairs)) == len(pairs), f"names come twice: {[name for name, _ in pairs]}"
    return Reply(kind, message.nonce, message.version_info, dict(pairs))


def _decode_delta(data: bytes) -> Reply:
    message = DeltaDiscoveryResponse.parse(data)
    kind = BY_URL[message.type_url]
    resources: dict[str, bytes] = {}
    versions: dict[str, str] = {}
    for each in message.resources:
        assert each.name not in resources, f"{each.name} comes twice"
        assert each.resource is not None
        assert each.resource.type_url == kind.url
        assert each.version
        assert _name(kind, each.resource) == each.name
        resources[each.name] = bytes(each.resource.value)
        versions[each.name] = each.version
    removed = tuple(message.removed_resources)
    assert len(set(removed)) == len(removed), f"removed twice: {removed}"
    assert not set(removed) & resources.keys(), f"there and gone: {removed}"
    return Reply(kind, message.nonce, message.system_version_info, resources, versions, removed)


def _name(kind: TypeInfo, packed: Any) -> str:
    message = packed.unpack()
    name: str = message.cluster_name if kind is EDS else message.name
    return name


async def eventually(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until `condition` holds, for what sends no event."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (see above)
            await asyncio.sleep(0.002)


class Clients:
    """Opens streams to one server."""

    def __init__(self, port: int) -> None:
        self.target = f"127.0.0.1:{port}"

    @asynccontextmanager
    async def open(
        self,
        *,
        delta: bool,
        node_id: str = "n1",
        fleet: str = "edge",
        node: Node | None = None,
        options: Mapping[str, int] | None = None,
        service: tuple[str, str] = AGGREGATED,
    ) -> AsyncIterator[Client]:
        """Open a connection with one stream."""
        arguments = {"grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1} | dict(
            options or {}
        )
        async with grpc.aio.insecure_channel(self.target, options=list(arguments.items())) as channel:
            name, resources = service
            call = channel.stream_stream(f"/{name}/{'Delta' if delta else 'Stream'}{resources}")()
            try:
                yield Client(call, node or Node(id=node_id, cluster=fleet), delta=delta)
            finally:
                call.cancel()
