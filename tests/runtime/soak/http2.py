"""The HTTP/2 client of the soak."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from .http1 import HUNG, PART, PATIENCE, REST, Address, Answer, Ask

_WINDOW = 16 * 1024 * 1024


@dataclass
class _Stream:
    answer: Answer = field(default_factory=Answer)
    status: int = 0
    pieces: list[bytes] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    room: asyncio.Event = field(default_factory=asyncio.Event)


class Http2(asyncio.Protocol):
    """One HTTP/2 connection; each stream has the small window that is the default."""

    def __init__(self) -> None:
        self._streams: dict[int, _Stream] = {}
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))

    @classmethod
    async def connect(cls, address: Address) -> "Http2":
        """Open a connection."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, *address)
        return connection

    def close(self) -> None:
        """Leave, with whatever is under way."""
        self._transport.close()

    async def ask(self, ask: Ask) -> Answer:
        """Send a request; with `leave`, cancel it when its time has come."""
        if self._transport.is_closing():
            return Answer()
        number, stream = self._h2.get_next_available_stream_id(), _Stream()
        self._streams[number] = stream
        method = "GET" if ask.upload is None else "POST"
        pseudo = [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", ask.path)]
        with suppress(h2.exceptions.ProtocolError):  # the stream, or the connection, has ended meanwhile
            self._h2.send_headers(number, pseudo, end_stream=ask.upload is None)
            if ask.upload is not None:
                self._h2.send_data(number, PART)
                self._flush()
                if not await _over(stream, ask.upload):
                    await self._upload(number, stream)
            self._flush()
            if ask.leave is not None and not await _over(stream, ask.leave):
                self._h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
                self._flush()
                stream.over.set()
        over = await _over(stream, PATIENCE)
        del self._streams[number]
        return stream.answer if over else Answer(HUNG)

    async def _upload(self, number: int, stream: _Stream) -> None:
        rest = REST
        while rest and not stream.over.is_set():
            room = min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size)
            if not room:
                stream.room.clear()
                await stream.room.wait()
                continue
            piece, rest = rest[:room], rest[room:]
            self._h2.send_data(number, piece, end_stream=not rest)
            self._flush()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_WINDOW)
        self._flush()

    def connection_lost(self, _: Exception | None) -> None:
        for stream in self._streams.values():
            stream.over.set()
            stream.room.set()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                self._take(event)
        except h2.exceptions.ProtocolError:  # such as a body of another length than announced
            self._transport.abort()
        self._flush()

    def _flush(self) -> None:
        if (data := self._h2.data_to_send()) and not self._transport.is_closing():
            self._transport.write(data)

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for each in self._streams.values():
                each.room.set()
            return
        stream = self._streams.get(getattr(event, "stream_id", 0) or 0)
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.status = int({str(name): value for name, value in event.headers}[":status"])
        elif isinstance(event, h2.events.DataReceived):
            stream.pieces.append(event.data)
        elif isinstance(event, h2.events.TrailersReceived):
            stream.answer.trailers = True
        elif isinstance(event, h2.events.StreamEnded):
            stream.answer.status, stream.answer.body = stream.status, b"".join(stream.pieces)
        if isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
            stream.over.set()
            stream.room.set()


async def _over(stream: _Stream, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stream.over.wait()
    return stream.over.is_set()
