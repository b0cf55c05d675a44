"""The upstream's HTTP/2 side (prior knowledge), on h2."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import GoAwayFrame

from .behaviour import Behaviour, Headers, Request, perform

if TYPE_CHECKING:
    from .upstream import Upstream

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_LAST_STREAM = 2**31 - 1
_WINDOW = 16 * 1024 * 1024


class Http2Connection(asyncio.Protocol):
    """One connection: any number of streams, each acted out in a task of its own."""

    def __init__(self, upstream: "Upstream", transport: asyncio.Transport, lost: Callable[[], None]) -> None:
        self._upstream = upstream
        self._transport = transport
        self._lost = lost
        self._streams: dict[int, _Stream] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="latin-1")
        )
        many = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100_000}
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=many)
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(_WINDOW)
        self.flush()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self.h2.receive_data(data):
                self._take(event)
        except h2.exceptions.ProtocolError:
            self.flush()
            self._transport.close()
        self.flush()

    def connection_lost(self, _: Exception | None) -> None:
        for stream in list(self._streams.values()):
            stream.task.cancel()
        self._writable.set()
        self._lost()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def flush(self) -> None:
        """Write what h2 has ready."""
        if (data := self.h2.data_to_send()) and not self._transport.is_closing():
            self._transport.write(data)

    def go_away(self) -> None:
        """Take no further stream; those that there are, or are on their way, go on (not so in h2)."""
        self._transport.write(GoAwayFrame(0, last_stream_id=_LAST_STREAM).serialize())

    async def drained(self) -> None:
        """Wait until the transport takes more."""
        await self._writable.wait()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            stream = _Stream(self, event.stream_id, _request(event.headers))
            behaviour = self._upstream.arrived(stream.request)
            self._upstream.changed(streams=1)
            self._streams[event.stream_id] = stream
            stream.task = asyncio.get_running_loop().create_task(perform(behaviour, stream))
            stream.task.add_done_callback(lambda task: self._done(stream, task))
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if stream_ := self._streams.get(event.stream_id):
                stream_.request.took(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            if stream_ := self._streams.get(event.stream_id):
                stream_.request.ended.set()
        elif isinstance(event, h2.events.StreamReset):
            if stream_ := self._streams.get(event.stream_id):
                stream_.task.cancel()
        elif isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for stream_ in self._streams.values():
                stream_.window.set()

    def _done(self, stream: "_Stream", task: "asyncio.Task[None]") -> None:
        del self._streams[stream.number]
        self._upstream.changed(streams=-1)
        if not task.cancelled() and (error := task.exception()) and not self._transport.is_closing():
            self._transport.abort()
            raise error


class _Stream:
    """One exchange; writes wait for the peer's flow-control window."""

    task: "asyncio.Task[None]"

    def __init__(self, connection: Http2Connection, number: int, request: Request) -> None:
        self.number = number
        self.request = request
        self.window = asyncio.Event()
        self._connection = connection
        self._h2 = connection.h2

    def prepare(self, behaviour: Behaviour) -> None:
        """Say goodbye, if that is wanted."""
        if behaviour.leaves:
            self._connection.go_away()

    async def send_informational(self, status: int) -> None:
        """Send a response that precedes the real one."""
        self._h2.send_headers(self.number, [(":status", str(status))])
        self._connection.flush()

    async def send_headers(self, status: int, headers: Headers, *, end: bool) -> None:
        """Send status and headers."""
        self._h2.send_headers(self.number, [(":status", str(status)), *headers], end_stream=end)
        self._connection.flush()

    async def send_data(self, data: bytes, *, end: bool) -> None:
        """Send a piece of the body."""
        rest = memoryview(data)
        while rest:
            await self._connection.drained()
            room = min(
                self._h2.local_flow_control_window(self.number), self._h2.max_outbound_frame_size, len(rest)
            )
            if room <= 0:
                self.window.clear()
                await self.window.wait()
                continue
            piece, rest = rest[:room], rest[room:]
            self._h2.send_data(self.number, bytes(piece), end_stream=end and not rest)
            self._connection.flush()
        if end and not data:
            self._h2.end_stream(self.number)
            self._connection.flush()

    async def send_trailers(self, trailers: Headers) -> None:
        """Send trailers."""
        self._h2.send_headers(self.number, list(trailers), end_stream=True)
        self._connection.flush()

    def reset(self, code: h2.errors.ErrorCodes = h2.errors.ErrorCodes.INTERNAL_ERROR) -> None:
        """Reset the stream."""
        self._h2.reset_stream(self.number, code)
        self._connection.flush()

    def abandon(self) -> None:
        """Reset the stream without complaint: the answer stands (RFC 9113, 8.1)."""
        self.reset(h2.errors.ErrorCodes.NO_ERROR)


def _request(headers: Iterable[tuple[str | bytes, str | bytes]]) -> Request:
    texts = [(str(name), str(value)) for name, value in headers]
    pseudo = {name: value for name, value in texts if name.startswith(":")}
    plain = tuple((name, value) for name, value in texts if not name.startswith(":"))
    if authority := pseudo.get(":authority"):
        plain = (("host", authority), *plain)
    return Request(pseudo[":method"], pseudo[":path"], plain, "http2")
