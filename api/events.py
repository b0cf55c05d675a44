"""Server-sent events: what changes, as it happens.

An open event stream would keep a server from ending (uvicorn waits for connections), so all of them end
together, first, when the composition root says so.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

log = logging.getLogger(__name__)

HEAD_ONLY = "brownout.head"
"""Key in the scope of a request that was `HEAD`."""

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` is what a reader sends back as `Last-Event-ID`."""

    name: str
    data: Any
    id: int | None = None

    def encode(self) -> bytes:
        """The event on the wire (HTML standard, 9.2.5)."""
        lines = [f"event: {self.name}", f"data: {json.dumps(self.data, ensure_ascii=False)}"]
        if self.id is not None:
            lines.append(f"id: {self.id}")
        return ("\n".join(lines) + "\n\n").encode()


Feed = Callable[[], AsyncIterator[Event]]


class EventStreams:
    """All open event streams of one application.

    Args:
        keepalive: seconds of silence after which a comment is sent, so that proxies keep the connection.
    """

    def __init__(self, *, keepalive: float = 15.0) -> None:
        self._keepalive = keepalive
        self._ended = asyncio.Event()
        self.open = 0

    def end(self) -> None:
        """End every stream, and every later one at once."""
        self._ended.set()

    def respond(self, *feeds: Feed) -> "EventResponse":
        """An answer that sends what the feeds yield, until the reader leaves or `end()`."""
        return EventResponse(self, feeds)

    async def serve(self, feeds: Sequence[Feed], receive: Receive, send: Send) -> None:
        """Run one stream to its end."""
        queue: asyncio.Queue[Event] = asyncio.Queue(maxsize=1)
        feeding = [asyncio.create_task(_pump(feed(), queue)) for feed in feeds]
        stopping = [asyncio.create_task(self._ended.wait()), asyncio.create_task(_disconnected(receive))]
        self.open += 1
        try:
            while (chunk := await self._next(queue, [*feeding, *stopping])) is not None:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if not stopping[1].done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.open -= 1
            await _cancel([*feeding, *stopping])

    async def _next(self, queue: asyncio.Queue[Event], ends: Sequence[asyncio.Task[Any]]) -> bytes | None:
        """The next chunk; `None` when any of `ends` is done (also a feed that failed: readers come back)."""
        getting = asyncio.create_task(queue.get())
        done, _ = await asyncio.wait(
            [getting, *ends], timeout=self._keepalive, return_when=asyncio.FIRST_COMPLETED
        )
        if any(task in done for task in ends):
            await _cancel([getting])
            return None
        if getting in done:
            return getting.result().encode()
        await _cancel([getting])
        return b": still here\n\n"


class EventResponse(Response):
    """The ASGI answer of one event stream."""

    def __init__(self, streams: EventStreams, feeds: Sequence[Feed]) -> None:
        super().__init__()
        self._streams = streams
        self._feeds = feeds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then events."""
        start: Message = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
        await send(start)
        if scope.get(HEAD_ONLY):
            await send({"type": "http.response.body", "body": b""})
            return
        await self._streams.serve(self._feeds, receive, send)


async def _pump(events: AsyncIterator[Event], queue: asyncio.Queue[Event]) -> None:
    try:
        async for event in events:
            await queue.put(event)
    except Exception:
        log.exception("a feed of events failed; its stream ends")


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
