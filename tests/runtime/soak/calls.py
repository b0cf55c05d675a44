"""gRPC in the soak: a real server and real clients, with deadlines and cancellations."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from .asks import PATIENCE, Run
from .places import CHANGING, CHEAP_PLACES, COMING
from .shapes import Shape

_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),  # or all channels share one connection
    ("grpc.max_receive_message_length", -1),
]
_SIZES = (0, 1, 100, 5000, 16_384, 70_000, 300_000)
_CODES = grpc.StatusCode


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Any service: the request's bytes are a `Shape`'s query, and the last part of the path says how."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        if details.method.endswith("/Stream"):
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    async def _unary(self, request: bytes, _: Any) -> bytes:
        shape = Shape.parse(request.decode())
        await asyncio.sleep(shape.delay / 1000)
        return shape.body

    async def _stream(self, request: bytes, _: Any) -> AsyncIterator[bytes]:
        shape = Shape.parse(request.decode())
        for _ in range(shape.pieces):
            await asyncio.sleep(shape.delay / 1000)
            yield shape.body


@asynccontextmanager
async def grpc_server() -> AsyncIterator[int]:
    """Serve while the block lasts; gives the port."""
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers((_Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def client(run: Run, number: int) -> None:
    """Channels, each for some calls at a time."""
    rng = run.rng("grpc", number)
    listeners = [name for name in run.addresses if name not in {CHANGING, COMING}]
    while run.going:
        address = "{}:{}".format(*run.addresses[rng.choice(listeners)])
        async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
            for _ in range(20):
                if run.going:
                    await asyncio.gather(*(_call(run, rng, channel) for _ in range(rng.randint(1, 6))))


async def _call(run: Run, rng: random.Random, channel: grpc.aio.Channel) -> None:
    name, kind = rng.choice(list(CHEAP_PLACES)), rng.choice(("Unary", "Stream"))
    pieces = rng.choice((1, 3, 20)) if kind == "Stream" else 1
    shape = Shape(size=rng.choice(_SIZES), pieces=pieces, delay=rng.choice((0, 0, 5)))
    deadline = rng.uniform(0.001, 0.1) if rng.random() < 0.1 else PATIENCE
    cancel = rng.uniform(0, 0.05) if rng.random() < 0.1 else None
    request = f"?{shape.query}".encode()
    method = f"/{name}.Soak/{kind}"
    if kind == "Unary":
        call = channel.unary_unary(method)(request, timeout=deadline)
        ending = _ended(call, lambda: _one(call), cancel)
    else:
        call = channel.unary_stream(method)(request, timeout=deadline)
        ending = _ended(call, lambda: _many(call), cancel)
    code, messages = await ending
    if cancel is not None and code is _CODES.CANCELLED:
        run.tally.leave("grpc")
        return
    run.tally.count("grpc", name, code.value[0])
    allowed = {_CODES.OK} | ({_CODES.DEADLINE_EXCEEDED} if deadline < PATIENCE else set())
    if 503 in CHEAP_PLACES[name].forced:
        allowed.add(_CODES.UNAVAILABLE)
    whole = messages == [shape.body] * pieces
    if code not in allowed or (code is _CODES.OK and not whole):
        sizes = [len(message) for message in messages]
        run.tally.complain(f"grpc {method} {shape} deadline {deadline}: {code} {call}, messages of {sizes}")


async def _one(call: grpc.aio.UnaryUnaryCall) -> list[bytes]:
    return [await call]


async def _many(call: grpc.aio.UnaryStreamCall) -> list[bytes]:
    return [message async for message in call]


async def _ended(
    call: grpc.aio.Call, messages: Callable[[], Awaitable[list[bytes]]], cancel: float | None
) -> tuple[grpc.StatusCode, list[bytes]]:
    if cancel is not None:
        asyncio.get_running_loop().call_later(cancel, call.cancel)
    try:
        return _CODES.OK, await messages()
    except grpc.aio.AioRpcError as error:
        return error.code(), []
    except asyncio.CancelledError:
        if not call.cancelled():
            raise
        return _CODES.CANCELLED, []
