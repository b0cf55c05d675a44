"""What an upstream does with a request, protocol aside."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

Headers = tuple[tuple[str, str], ...]
_KEPT = 65_536


@dataclass
class Request:
    """A request as it arrived; `body` keeps its first 64 KiB, `body_size` counts all of it."""

    method: str
    target: str
    headers: Headers
    protocol: str
    body: bytes = b""
    body_size: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name), None)

    def took(self, data: bytes) -> None:
        """Count a piece of the body."""
        self.body_size += len(data)
        if len(self.body) < _KEPT:
            self.body += data[: _KEPT - len(self.body)]


def filler_headers(size: int) -> Headers:
    """Headers of about `size` bytes in all, none longer than 4 KiB."""
    full, rest = divmod(size, 4096)
    return (*((f"x-filler-{n}", "f" * 4080) for n in range(full)), ("x-filler-rest", "f" * rest))


class Gate:
    """Holds requests until the test releases them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._permits = asyncio.Semaphore(0)
        self._open = False
        self._news = threading.Condition()
        self.waiting = 0

    async def passage(self) -> None:
        """Wait for a release."""
        if self._open:
            return
        self._moved(1)
        try:
            await self._permits.acquire()
        finally:
            self._moved(-1)

    def wait_waiting(self, count: int, timeout: float = 10.0) -> None:
        """Wait until that many requests are held."""
        with self._news:
            if not self._news.wait_for(lambda: self.waiting >= count, timeout):
                raise AssertionError(f"{self.waiting} of {count} requests at the gate within {timeout} s")

    def release(self, count: int = 1) -> None:
        """Let that many requests pass, those that wait first."""
        self._loop.call_soon_threadsafe(self._release, count)

    def open(self) -> None:
        """Let all pass from now on."""
        self._open = True
        self._loop.call_soon_threadsafe(lambda: self._release(self.waiting))

    def _release(self, count: int) -> None:
        for _ in range(count):
            self._permits.release()

    def _moved(self, by: int) -> None:
        with self._news:
            self.waiting += by
            self._news.notify_all()


@dataclass(frozen=True)
class Behaviour:
    """What a path does. The default is a 200 with `ok` at once.

    Attributes:
        status: the status.
        headers: response headers beside content-length.
        body: the body; `size` bytes of filler instead if that is set.
        delay: seconds from the request (its end, or its headers when `early`) to the response headers.
        pause: seconds between response headers and body.
        chunked: no content-length: chunked in HTTP/1.
        trailers: sent after the body (implies `chunked` in HTTP/1).
        early: answer without waiting for the end of the request's body.
        gate: hold before the response headers until released.
        endless: after the body, send a 1 KiB piece every this many seconds until the peer leaves.
        echo: answer with JSON of the request (`method`, `target`, `headers`, `body_size`, `protocol`).
        reset: `before` or `after` the response headers, or after `half` of the body: cut the connection
            (HTTP/1) or reset the stream.
        informational: a status below 200 that is sent first.
        abandons: once it has answered a request that still runs, the upstream wants no more of it: it resets
            the stream with NO_ERROR, or closes the connection (HTTP/1).
        leaves: it says with its answer that the connection takes no further request (GOAWAY, or in HTTP/1
            `connection: close`).
        until_close: HTTP/1: no length, the connection's end ends the body.
        half_close: HTTP/1: after the answer it closes its sending half, and goes on reading.
    """

    status: int = 200
    headers: Headers = ()
    body: bytes = b"ok\n"
    size: int | None = None
    delay: float = 0.0
    pause: float = 0.0
    chunked: bool = False
    trailers: Headers = ()
    early: bool = False
    gate: Gate | None = None
    endless: float | None = None
    echo: bool = False
    reset: str | None = None
    informational: int | None = None
    abandons: bool = False
    leaves: bool = False
    until_close: bool = False
    half_close: bool = False

    @classmethod
    def grpc(cls, message: bytes = b"", grpc_status: int = 0, delay: float = 0.0) -> Self:
        """A unary gRPC answer: one message (a status other than 0: none) and trailers."""
        framed = b"\0" + len(message).to_bytes(4, "big") + message
        return cls(
            headers=(("content-type", "application/grpc"),),
            body=b"" if grpc_status else framed,
            chunked=True,
            trailers=(("grpc-status", str(grpc_status)),),
            delay=delay,
        )

    def with_changes(self, **changes: object) -> Self:
        """A copy with other values."""
        return replace(self, **changes)  # type: ignore[arg-type]  # names and types are the dataclass's own

    def content(self, request: Request) -> bytes:
        """The body for a request."""
        if self.echo:
            seen = {"method": request.method, "target": request.target, "headers": request.headers}
            return json.dumps(seen | {"body_size": request.body_size, "protocol": request.protocol}).encode()
        if self.size is not None:
            return (b"0123456789abcdef" * (self.size // 16 + 1))[: self.size]
        return self.body


class Exchange(Protocol):
    """One request and its response, as a connection offers it."""

    request: Request

    async def send_informational(self, status: int) -> None:
        """Send a response that precedes the real one."""

    def prepare(self, behaviour: Behaviour) -> None:
        """Make ready for how the connection shall end: `leaves`, `until_close`, `half_close`."""

    async def send_headers(self, status: int, headers: Headers, *, end: bool) -> None:
        """Send status and headers; `end` when neither body nor trailers follow."""

    async def send_data(self, data: bytes, *, end: bool) -> None:
        """Send a piece of the body, at the peer's pace."""

    async def send_trailers(self, trailers: Headers) -> None:
        """Send trailers, which ends the response."""

    def reset(self) -> None:
        """End it the hard way."""

    def abandon(self) -> None:
        """Want no more of the request."""


async def perform(behaviour: Behaviour, exchange: Exchange) -> None:
    """Act out a behaviour on an exchange."""
    request = exchange.request
    if not behaviour.early:
        await request.ended.wait()
    if behaviour.delay:
        await asyncio.sleep(behaviour.delay)
    if behaviour.gate:
        await behaviour.gate.passage()
    if behaviour.reset == "before":
        exchange.reset()
    else:
        await _respond(behaviour, exchange)


async def _respond(behaviour: Behaviour, exchange: Exchange) -> None:
    exchange.prepare(behaviour)
    if behaviour.informational:
        await exchange.send_informational(behaviour.informational)
    request = exchange.request
    body = behaviour.content(request)
    open_ended = bool(behaviour.trailers) or behaviour.endless is not None
    bodiless = request.method == "HEAD" or behaviour.status in {204, 304}
    headers = behaviour.headers
    if not (behaviour.chunked or behaviour.until_close or open_ended or behaviour.status == 204):
        headers += (("content-length", str(len(body))),)
    more = not bodiless and (body or open_ended or behaviour.reset)
    await exchange.send_headers(behaviour.status, headers, end=not more)
    if more:
        if behaviour.pause:
            await asyncio.sleep(behaviour.pause)
        await _send_body(behaviour, exchange, body)
    if behaviour.abandons and not request.ended.is_set():
        exchange.abandon()


async def _send_body(behaviour: Behaviour, exchange: Exchange, body: bytes) -> None:
    if behaviour.reset:
        if behaviour.reset == "half":
            await exchange.send_data(body[: len(body) // 2], end=False)
        exchange.reset()
        return
    open_ended = bool(behaviour.trailers) or behaviour.endless is not None
    await exchange.send_data(body, end=not open_ended)
    if behaviour.endless is not None:
        await _without_end(exchange.send_data, behaviour.endless)
    if behaviour.trailers:
        await exchange.send_trailers(behaviour.trailers)


async def _without_end(send: Callable[..., Awaitable[None]], interval: float) -> None:
    while True:
        await send(b"." * 1024, end=False)
        await asyncio.sleep(interval)
