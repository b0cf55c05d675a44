"""The upstream's HTTP/1.1 side, on h11."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import h11

from .behaviour import Behaviour, Headers, Request, perform

if TYPE_CHECKING:
    from .upstream import Upstream

_PIECE = 65_536


class Http1Connection(asyncio.Protocol):
    """One connection: request after request, each acted out in a task, so that a peer's end is noticed."""

    request: Request

    def __init__(self, upstream: "Upstream", transport: asyncio.Transport, lost: Callable[[], None]) -> None:
        self._upstream = upstream
        self._transport = transport
        self._lost = lost
        self._h11 = h11.Connection(h11.SERVER)
        self._task: asyncio.Task[None] | None = None
        self._leaves = self._half_close = False
        self._writable = asyncio.Event()
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._h11.receive_data(data)
        self._advance()

    def eof_received(self) -> None:
        self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._task:
            self._task.cancel()
        self._writable.set()
        self._lost()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _advance(self) -> None:
        try:
            while (event := self._h11.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
                if isinstance(event, h11.Request):
                    self._begin(event)
                elif isinstance(event, h11.Data):
                    self.request.took(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self.request.ended.set()
                    self._next()
                else:
                    return
        except h11.RemoteProtocolError:
            self._transport.abort()

    def _begin(self, event: h11.Request) -> None:
        headers = tuple((name.decode(), value.decode("latin-1")) for name, value in event.headers)
        self.request = Request(event.method.decode(), event.target.decode("latin-1"), headers, "http1")
        behaviour = self._upstream.arrived(self.request)
        self._upstream.changed(streams=1)
        self._task = asyncio.get_running_loop().create_task(perform(behaviour, self))
        self._task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._upstream.changed(streams=-1)
        if task.cancelled():
            return
        if error := task.exception():
            if self._transport.is_closing():
                return
            self._transport.abort()
            raise error
        self._task = None
        self._next()

    def _next(self) -> None:
        """Begin the next cycle once both sides are done with this one."""
        if self._task or self._transport.is_closing():
            return
        if self._half_close:
            self.abandon()
        elif self._h11.our_state is h11.MUST_CLOSE:
            self._transport.close()
        elif self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            self._advance()

    async def _send(self, event: h11.Event) -> None:
        await self._writable.wait()
        if self._transport.is_closing():
            raise ConnectionResetError
        if data := self._h11.send(event):
            self._transport.write(data)

    def prepare(self, behaviour: Behaviour) -> None:
        """Decide how the connection ends."""
        unwanted = behaviour.abandons and not self.request.ended.is_set()
        self._leaves, self._half_close = behaviour.leaves or unwanted, behaviour.half_close
        if behaviour.until_close:
            self._h11.their_http_version = b"1.0"  # for h11 the peer knows no chunks then

    async def send_informational(self, status: int) -> None:
        """Send a response that precedes the real one."""
        await self._send(h11.InformationalResponse(status_code=status, headers=[]))

    async def send_headers(self, status: int, headers: Headers, *, end: bool) -> None:
        """Send status and headers."""
        if self._leaves:
            headers += (("connection", "close"),)
        await self._send(h11.Response(status_code=status, headers=list(headers)))
        if end:
            await self._send(h11.EndOfMessage())

    async def send_data(self, data: bytes, *, end: bool) -> None:
        """Send a piece of the body."""
        for start in range(0, len(data), _PIECE):
            await self._send(h11.Data(data=data[start : start + _PIECE]))
        if end:
            await self._send(h11.EndOfMessage())

    async def send_trailers(self, trailers: Headers) -> None:
        """Send trailers."""
        await self._send(h11.EndOfMessage(headers=list(trailers)))

    def reset(self) -> None:
        """Cut the connection once what was sent is out of this process."""
        if self._transport.get_write_buffer_size():
            self._transport.close()
        else:
            self._transport.abort()

    def abandon(self) -> None:
        """Close the sending half, and read what still comes: to close at once could lose the answer."""
        with contextlib.suppress(OSError):  # the peer may have gone
            self._transport.write_eof()
