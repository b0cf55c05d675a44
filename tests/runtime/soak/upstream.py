"""The upstream of the soak: HTTP/1.1, HTTP/2, WebSockets and tunnels on one port, as each request asks."""

import asyncio
import struct
from collections.abc import Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import hpack

from .http1 import BROKEN, LIMIT, body_of, fields_of
from .shapes import Shape

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Pairs = list[tuple[str, str]]
_GONE = (*BROKEN, asyncio.LimitOverrunError, h2.exceptions.ProtocolError)
REFUSED = b"refused:1"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\n"
_WINDOW = 16 * 1024 * 1024
_GOAWAY = struct.Struct("!BHBBIII")  # length in two parts, type, flags, stream; last stream, error
_HINTS = [("link", "</style.css>; rel=preload")]


class _Exchange(Protocol):
    """A request and its response, whatever the protocol."""

    async def head(self, status: int, pairs: Pairs, *, end: bool) -> None: ...
    async def data(self, data: bytes, *, end: bool) -> None: ...
    async def tail(self, pairs: Pairs) -> None: ...
    def cut(self) -> None: ...
    async def request_ended(self) -> None: ...
    def after(self, end: str) -> None: ...


async def _perform(shape: Shape, exchange: _Exchange, *, bodiless: bool) -> None:
    if not shape.early:
        await exchange.request_ended()
    await asyncio.sleep(shape.delay / 1000)
    if shape.end == "cut-before":
        return exchange.cut()
    if shape.hints:
        await exchange.head(103, _HINTS, end=False)
    bodiless = bodiless or shape.status in {204, 304}
    pairs = [("x-pad", "p" * shape.head)] if shape.head else []
    if shape.to:
        pairs.append(("location", shape.to))
    if not (shape.chunked or shape.tail or shape.status in {204, 304}):
        pairs.append(("content-length", str(shape.size)))
    if shape.end == "goaway":
        exchange.after("goaway")
    await exchange.head(shape.status, pairs, end=bodiless)
    if shape.end == "cut-head":
        return exchange.cut()
    if not bodiless:
        await _send_body(shape, exchange)
    return exchange.after(shape.end)


async def _send_body(shape: Shape, exchange: _Exchange) -> None:
    body, piece = shape.body, max(1, -(-shape.size // shape.pieces))
    for start in range(0, max(1, shape.size), piece):
        if shape.pause:
            await asyncio.sleep(shape.pause / 1000)
        last = start + piece >= shape.size
        if shape.end == "cut-body" and last:
            return exchange.cut()
        await exchange.data(body[start : start + piece], end=last and not shape.tail)
    if shape.tail:
        await exchange.tail([("x-end", "1"), ("x-more", "t" * shape.tail)])
    return None


class _Http1:
    """One request on an HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        self.method, self.target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self.fields = fields_of(head)
        self._writer = writer
        self._chunked = False
        self._ended = asyncio.ensure_future(body_of(reader, self.fields, bodiless=False))

    async def serve(self) -> None:
        try:
            await _perform(Shape.parse(self.target), self, bodiless=self.method == "HEAD")
            await self._ended
        finally:
            self._ended.cancel()

    async def request_ended(self) -> None:
        await asyncio.shield(self._ended)

    async def head(self, status: int, pairs: Pairs, *, end: bool) -> None:
        self._chunked = not end and status != 103 and all(name != "content-length" for name, _ in pairs)
        if self._chunked:
            pairs = [*pairs, ("transfer-encoding", "chunked")]
        lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
        self._writer.write(f"HTTP/1.1 {status} x\r\n{lines}\r\n".encode())
        await self._writer.drain()

    async def data(self, data: bytes, *, end: bool) -> None:
        if self._chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._writer.write(data + b"0\r\n\r\n" * (self._chunked and end))
        await self._writer.drain()

    async def tail(self, pairs: Pairs) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
        self._writer.write(f"0\r\n{lines}\r\n".encode())
        await self._writer.drain()

    def cut(self) -> None:
        self._writer.transport.abort()

    def after(self, end: str) -> None:
        if end == "close":
            self._writer.close()


async def _serve_http1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    while True:
        if head.startswith(b"CONNECT ") or b"\r\nupgrade: websocket\r\n" in head:
            if REFUSED in head:
                writer.write(b"HTTP/1.1 404 x\r\ncontent-length: 3\r\n\r\nno\n")
                return
            tunnel = b"200 OK" if head.startswith(b"CONNECT ") else b"101 Switching"
            upgrade = b"connection: upgrade\r\nupgrade: websocket\r\n" * (tunnel[0:1] == b"1")
            writer.write(b"HTTP/1.1 %b\r\n%b\r\n" % (tunnel, upgrade))
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
            return
        await _Http1(reader, writer, head).serve()
        head = await reader.readuntil(b"\r\n\r\n")


class _Encoder(hpack.Encoder):
    """Without Huffman codes, which take a Python most of its time."""

    def encode(self, headers: Iterable[Any], huffman: bool = False) -> bytes:
        return super().encode(headers, huffman=huffman)


class _Http2:
    """One HTTP/2 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.streams: dict[int, _Stream] = {}
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="latin-1")
        )
        self.h2.encoder = _Encoder()
        self.h2.local_settings.max_concurrent_streams = 100_000
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(_WINDOW)

    async def serve(self, data: bytes) -> None:
        try:
            while data:
                for event in self.h2.receive_data(data):
                    self._take(event)
                self.write()  # and never wait here: what comes may be what the peer waits for
                data = await self._reader.read(65_536)
        finally:
            for stream in list(self.streams.values()):
                stream.task.cancel()

    def write(self, more: bytes = b"") -> None:
        if (data := self.h2.data_to_send() + more) and not self._writer.is_closing():
            self._writer.write(data)

    async def flush(self) -> None:
        self.write()
        await self._writer.drain()

    def goaway(self, last: int) -> None:
        # By hand: h2 takes the connection for closed then, but the streams that are under way go on.
        self.write(_GOAWAY.pack(0, 8, 7, 0, 0, last, 0))

    def close(self) -> None:
        self._writer.close()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            _Stream(self, event.stream_id, {str(name): str(value) for name, value in event.headers})
        elif isinstance(event, h2.events.DataReceived):
            with suppress(h2.exceptions.StreamClosedError):  # an early answer has reset it
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for stream in self.streams.values():
                stream.room.set()
        if stream_ := self.streams.get(getattr(event, "stream_id", 0) or 0):
            if isinstance(event, h2.events.StreamEnded):
                stream_.ended.set()
            elif isinstance(event, h2.events.StreamReset):
                stream_.task.cancel()


class _Stream:
    """One request on an HTTP/2 connection."""

    def __init__(self, connection: _Http2, number: int, fields: dict[str, str]) -> None:
        self.ended, self.room = asyncio.Event(), asyncio.Event()
        self._connection, self._h2, self._number = connection, connection.h2, number
        connection.streams[number] = self
        self.task = asyncio.ensure_future(self._run(fields))

    async def _run(self, fields: dict[str, str]) -> None:
        shape = Shape.parse(fields[":path"])
        try:
            with suppress(*_GONE):  # reset or gone meanwhile
                await _perform(shape, self, bodiless=fields[":method"] == "HEAD")
        finally:
            del self._connection.streams[self._number]

    async def request_ended(self) -> None:
        await self.ended.wait()

    async def head(self, status: int, pairs: Pairs, *, end: bool) -> None:
        self._h2.send_headers(self._number, [(":status", str(status)), *pairs], end_stream=end)
        await self._connection.flush()

    async def data(self, data: bytes, *, end: bool) -> None:
        if not data and end:
            self._h2.end_stream(self._number)
        while data:
            room = min(self._h2.local_flow_control_window(self._number), self._h2.max_outbound_frame_size)
            if room <= 0:
                self.room.clear()
                await self.room.wait()
                continue
            piece, data = data[:room], data[room:]
            self._h2.send_data(self._number, piece, end_stream=end and not data)
            await self._connection.flush()
        await self._connection.flush()

    async def tail(self, pairs: Pairs) -> None:
        self._h2.send_headers(self._number, pairs, end_stream=True)
        await self._connection.flush()

    def cut(self) -> None:
        self._h2.reset_stream(self._number, h2.errors.ErrorCodes.INTERNAL_ERROR)
        self._connection.write()

    def after(self, end: str) -> None:
        if end == "rst" and not self.ended.is_set():
            self._h2.reset_stream(self._number, h2.errors.ErrorCodes.NO_ERROR)
            self._connection.write()
        elif end == "goaway":
            self._connection.goaway(self._number)
        elif end == "close":
            self._connection.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(*_GONE):
        head = await reader.readuntil(b"\r\n\r\n")
        if head == _PREFACE:
            await _Http2(reader, writer).serve(head)
        else:
            await _serve_http1(reader, writer, head)
    writer.close()


@asynccontextmanager
async def hostile_upstream() -> "AsyncIterator[int]":
    """Serve while the block lasts; gives the port."""
    served: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve(reader, writer))
        served.add(task)
        task.add_done_callback(served.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=LIMIT, backlog=4096)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(served):
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)
