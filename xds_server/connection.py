"""One stream's two directions."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import grpc

from xds_server.metrics import Metrics
from xds_server.protocol.state import TypeState, Verdict
from xds_server.session import Session
from xds_server.wire import WireError


class StreamEnd(Exception):  # noqa: N818 (it is how a stream ends, not always an error)
    """The stream is to end with a status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class Transport(Protocol):
    """What a stream is to us."""

    async def read(self) -> bytes | None:
        """Return the next request; None when the client has ended."""

    async def write(self, data: bytes) -> None:
        """Send a response; returns when the transport has taken it."""


class Connection:
    """Reads requests and writes the responses that are due.

    The two do not wait for each other. A client that stops reading holds up one write, and nothing else:
    what is due is only computed when it can be sent, and is then the newest.
    """

    def __init__(self, transport: Transport, metrics: Metrics, new_nonce: Callable[[], str]) -> None:
        self.new_nonce = new_nonce
        self._transport = transport
        self._metrics = metrics
        self._news = asyncio.Event()
        self._woken_at: float | None = None
        self._end: StreamEnd | None = None
        self._done = False
        self._clock = asyncio.get_running_loop().time

    def wake(self) -> None:
        """Note that something may be due."""
        if self._woken_at is None:
            self._woken_at = self._clock()
            self._metrics.queue.inc()
        self._news.set()

    def dismiss(self, why: str) -> None:
        """End the stream: its node is kept out."""
        self.close(StreamEnd(grpc.StatusCode.PERMISSION_DENIED, why))

    def close(self, end: StreamEnd | None) -> None:
        """End the stream, with a status or (None) in peace; the response that is being sent is sent."""
        if not self._done:
            self._done, self._end = True, end
            self._news.set()

    async def run(self, session: Session, verdict: Callable[[TypeState, Verdict], None]) -> None:
        """Serve until the stream ends; `verdict` is called for every ACK and NACK.

        Raises:
            StreamEnd: With that status.
        """
        reader = asyncio.create_task(self._read(session, verdict))
        try:
            await self._write(session)
        finally:
            reader.cancel()
            await asyncio.wait([reader])
            self._idle()
        if self._end is not None:
            raise self._end

    async def _read(self, session: Session, verdict: Callable[[TypeState, Verdict], None]) -> None:
        try:
            while (data := await self._transport.read()) is not None:
                state, answer = session.receive(data)
                if state is not None and answer in (Verdict.ACKED, Verdict.NACKED):
                    verdict(state, answer)
                self._news.set()
                del data  # a megabyte perhaps, and the next request may be hours away
            self.close(None)
        except WireError as error:
            self.close(StreamEnd(grpc.StatusCode.INVALID_ARGUMENT, f"no discovery request: {error}"))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, it ends this stream only)
            self.close(StreamEnd(grpc.StatusCode.INTERNAL, repr(error)))

    async def _write(self, session: Session) -> None:
        while not self._done:
            self._news.clear()
            due = session.poll(self._clock())
            if due is None:
                self._idle()
                await self._wait(session.deadline)
                continue
            kind, data = due
            await self._transport.write(data)
            self._metrics.pushes[kind].inc()
            self._metrics.bytes[kind].inc(len(data))
            del due, data  # a thousand idle streams would keep a thousand responses

    async def _wait(self, deadline: float | None) -> None:
        if deadline is None:
            await self._news.wait()
            return
        try:
            async with asyncio.timeout_at(deadline):
                await self._news.wait()
        except TimeoutError:
            pass

    def _idle(self) -> None:
        if self._woken_at is not None:
            self._metrics.push.observe(self._clock() - self._woken_at)
            self._metrics.queue.dec()
            self._woken_at = None
