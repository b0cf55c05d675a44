"""A real upstream server: HTTP/1.1 and HTTP/2 (prior knowledge) on one port, a behaviour for each path."""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from .behaviour import Behaviour, Gate, Request
from .http1 import Http1Connection
from .http2 import PREFACE, Http2Connection

Rule = Behaviour | Callable[[Request], Behaviour]
_OK = Behaviour()


class Upstream:
    """Serves in a thread of its own; `with` starts and stops it.

    `upstream["/pay"] = Behaviour(delay=0.06)` sets what a path does (exact path, without query); a function
    of the request may decide anew each time. All other paths follow `default`. Rules may change at any time.

    Attributes:
        port: where it listens; stays the same when it is stopped and started again.
        requests: the latest 100,000 requests, in order of arrival.
        counts: requests so far, by path.
        open_connections, open_streams: how many there are at the moment.
    """

    def __init__(
        self, paths: Mapping[str, Rule] | None = None, *, default: Rule = _OK, port: int = 0
    ) -> None:
        self.port = port
        self.requests: deque[Request] = deque(maxlen=100_000)
        self.counts: Counter[str] = Counter()
        self.open_connections = 0
        self.open_streams = 0
        self._paths = dict(paths or {})
        self._default = default
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Transport] = set()

    def __setitem__(self, path: str, rule: Rule) -> None:
        self._paths[path] = rule

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def gate(self) -> Gate:
        """A gate for `Behaviour(gate=…)`: requests wait there until the test lets them pass."""
        return Gate(self._loop)

    def wait_for(self, condition: Callable[[Self], bool], timeout: float = 10.0) -> None:
        """Wait until `condition(upstream)` holds; looked at when a stream or connection comes or goes."""
        with self._news:
            if not self._news.wait_for(lambda: condition(self), timeout):
                now = f"{self.open_streams} streams, {self.open_connections} connections"
                raise AssertionError(f"not within {timeout} s: {dict(self.counts)}, {now}")

    def start(self) -> None:
        """Listen."""
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        self.port = ready.result(10)

    def stop(self) -> None:
        """Stop listening and cut all connections."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._loop.close()

    # -- what the connections call, in the loop's thread

    def arrived(self, request: Request) -> Behaviour:
        """Note a request and say what to do with it."""
        with self._news:
            self.requests.append(request)
            self.counts[request.path] += 1
            self._news.notify_all()
        rule = self._paths.get(request.path, self._default)
        return rule if isinstance(rule, Behaviour) else rule(request)

    def changed(self, *, streams: int = 0, connections: int = 0) -> None:
        """Note streams or connections that came or went."""
        with self._news:
            self.open_streams += streams
            self.open_connections += connections
            self._news.notify_all()

    def _run(self, ready: "Future[int]") -> None:
        try:
            self._loop.run_until_complete(self._serve(ready))
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _serve(self, ready: "Future[int]") -> None:
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(lambda: _Sniffer(self), "127.0.0.1", self.port, backlog=4096)
        ready.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        server.close()
        for transport in list(self._connections):
            transport.abort()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class _Sniffer(asyncio.Protocol):
    """Looks at the first bytes of a connection and hands it to the protocol that they speak."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._upstream._connections.add(transport)
        self._upstream.changed(connections=1)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) < len(PREFACE) and PREFACE.startswith(self._data):
            return
        kind = Http2Connection if self._data.startswith(PREFACE) else Http1Connection
        connection = kind(self._upstream, self._transport, self._lost)
        self._transport.set_protocol(connection)
        connection.data_received(self._data)

    def connection_lost(self, _: Exception | None) -> None:
        self._lost()

    def _lost(self) -> None:
        self._upstream._connections.discard(self._transport)
        self._upstream.changed(connections=-1)
