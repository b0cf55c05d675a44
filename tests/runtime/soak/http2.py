"""The soak's own HTTP/2 client: any window, any pace of reading, resets of streams and of connections."""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from .answers import HUNG, Answer
from .asks import PATIENCE, Address, Ask, Run
from .http1 import connected, read_on, reset

_SETTING = h2.settings.SettingCodes
_WINDOWS = (0, 1000, 16_384, 65_535, 1 << 20, 16 << 20)
_MOST_PAUSES = 30  # with a small window each piece of a large body would be one
_CONNECTION_WINDOWS = (0, 0, 1 << 20, 16 << 20)


@dataclass
class _Stream:
    answer: Answer = field(default_factory=Answer)
    status: int = 0
    pieces: list[bytes] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    room: asyncio.Event = field(default_factory=asyncio.Event)


class Http2(asyncio.Protocol):
    """One HTTP/2 connection.

    Args:
        rng: decides about windows, and when reading pauses.
        wide: whether windows are larger than all that the peer may send.
    """

    def __init__(self, rng: random.Random, *, wide: bool = False) -> None:
        self._rng = rng
        self._wide = wide
        self._pauses = rng.choice((0.0, 0.0, 0.02, 0.2))
        self._pauses_left = _MOST_PAUSES
        self._streams: dict[int, _Stream] = {}
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))

    @classmethod
    async def connect(cls, address: Address, rng: random.Random, *, wide: bool = False) -> "Http2":
        """Open a connection."""
        sock = await connected(address, window=65_536 if wide else rng.choice((0, 0, 0, 4096, 65_536)))
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: cls(rng, wide=wide), sock=sock
        )
        return connection

    @property
    def closed(self) -> bool:
        """Whether nothing more can be asked."""
        return self._transport.is_closing()

    def close(self, *, rudely: bool) -> None:
        """Leave, with whatever is under way."""
        if rudely and not self.closed:
            reset(self._transport)
        self._transport.close()

    async def ask(self, ask: Ask) -> Answer:
        """Send a request; with `leave`, cancel it when its time has come."""
        number, stream = self._h2.get_next_available_stream_id(), _Stream()
        self._streams[number] = stream
        pseudo = [(":method", ask.method), (":scheme", "http"), (":authority", "a"), (":path", ask.path)]
        try:
            await self._send(number, stream, ask, pseudo)
        except h2.exceptions.ProtocolError:  # the stream, or the connection, has ended meanwhile
            stream.over.set()
        over = await _over(stream, PATIENCE)
        del self._streams[number]
        return stream.answer if over else Answer(HUNG)

    async def _send(self, number: int, stream: _Stream, ask: Ask, pseudo: list[tuple[str, str]]) -> None:
        self._h2.send_headers(number, pseudo, end_stream=not ask.upload)
        self._flush()
        if ask.upload:
            await self._upload(number, stream, ask.upload // 2, end=False)
            if not await _over(stream, ask.pause):
                await self._upload(number, stream, ask.upload - ask.upload // 2, end=True)
        if ask.leave is not None and not await _over(stream, ask.leave):
            self._h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
            self._flush()
            stream.over.set()

    async def _upload(self, number: int, stream: _Stream, size: int, *, end: bool) -> None:
        while size and not stream.over.is_set():
            room = min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size, size)
            if not room:
                stream.room.clear()
                await stream.room.wait()
                continue
            size -= room
            self._h2.send_data(number, b"u" * room, end_stream=end and not size)
            self._flush()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        window = _WINDOWS[-1] if self._wide else self._rng.choice(_WINDOWS)
        self._h2.local_settings = h2.settings.Settings(
            client=True, initial_values={_SETTING.INITIAL_WINDOW_SIZE: window, _SETTING.ENABLE_PUSH: 0}
        )
        self._h2.initiate_connection()
        if more := _WINDOWS[-1] if self._wide else self._rng.choice(_CONNECTION_WINDOWS):
            self._h2.increment_flow_control_window(more)
        self._flush()
        loop = asyncio.get_running_loop()
        loop.call_later(self._rng.uniform(0, 1), read_on, transport)
        if not window:
            loop.call_later(self._rng.uniform(0, 0.3), self._open)

    def _open(self) -> None:
        """Give the streams a window at last."""
        with suppress(h2.exceptions.ProtocolError):
            self._h2.update_settings({_SETTING.INITIAL_WINDOW_SIZE: self._rng.choice(_WINDOWS[1:])})
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
        if self._pauses_left and self._rng.random() < self._pauses and not self.closed:
            self._pauses_left -= 1
            self.pause(self._rng.uniform(0, 0.2))

    def pause(self, seconds: float) -> None:
        """Read nothing for a time."""
        if not self.closed:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(seconds, self._resume)

    def _resume(self) -> None:
        if not self.closed:
            self._transport.resume_reading()

    def _flush(self) -> None:
        if (data := self._h2.data_to_send()) and not self.closed:
            self._transport.write(data)

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived):
            with suppress(h2.exceptions.StreamClosedError):
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for waiting in self._streams.values():
                waiting.room.set()
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


async def client(run: Run, number: int) -> None:
    """One connection after the other, each with some streams at a time."""
    rng = run.rng("http2", number)
    while run.going:
        listener = run.listener(rng)
        with suppress(ConnectionError):
            backs_up = rng.random() < 0.1
            connection = await Http2.connect(run.addresses[listener], rng, wide=backs_up)
            try:
                await (_back_up if backs_up else _use)(run, rng, connection, listener)
            finally:
                connection.close(rudely=rng.random() < 0.3)


async def _use(run: Run, rng: random.Random, connection: Http2, listener: str) -> None:
    streams = [
        asyncio.ensure_future(_stream(run, rng, connection, listener)) for _ in range(rng.randint(1, 12))
    ]
    leaves = rng.random() < 0.2  # in the midst of it
    _, left = await asyncio.wait(streams, timeout=rng.uniform(0, 0.5) if leaves else None)
    for stream in left:
        run.tally.leave("http2")
        stream.cancel()
    ended = await asyncio.gather(*streams, return_exceptions=True)
    if errors := [error for error in ended if isinstance(error, Exception)]:
        raise ExceptionGroup("streams", errors)


async def _back_up(run: Run, rng: random.Random, connection: Http2, listener: str) -> None:
    """Ask for more than the connection takes, and do not read for a time."""

    async def one(ask: Ask) -> None:
        halts = run.halts
        run.judge("http2 backed up", ask, await connection.ask(ask), halts)

    async with asyncio.TaskGroup() as group:
        for ask in run.backlog(rng, listener, rng.randint(2, 12)):
            group.create_task(one(ask))
        await asyncio.sleep(0)  # all are sent
        connection.pause(rng.uniform(0.1, 0.8))


async def _stream(run: Run, rng: random.Random, connection: Http2, listener: str) -> None:
    for _ in range(rng.randint(1, 10)):
        if connection.closed or not run.going:
            return
        ask, halts = run.ask(rng, listener), run.halts
        answer = await connection.ask(ask)
        run.judge("http2", ask, answer, halts)
