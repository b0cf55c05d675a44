"""One request on a connection of its own, and everything that comes back: bytes, header order, trailers."""

import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h11

Pairs = list[tuple[str, str]]
_WINDOW = 16 * 1024 * 1024


@dataclass
class RawResponse:
    """A response, nothing left out or interpreted.

    Attributes:
        status: 0 when no response came.
        complete: whether it came to its regular end.
        informational: the statuses below 200 that preceded it.
        reset: the code with which the peer reset the stream (HTTP/2).
    """

    status: int = 0
    headers: Pairs = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    trailers: Pairs = field(default_factory=list)
    complete: bool = False
    informational: list[int] = field(default_factory=list)
    reset: int | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name), None)


def exchange(
    address: tuple[str, int],
    method: str = "GET",
    path: str = "/",
    *,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | Iterable[bytes] = b"",
    http2: bool = False,
    timeout: float = 30.0,
) -> RawResponse:
    """Send a request, and return what comes until the response or the connection ends.

    A body given as an iterable (chunked in HTTP/1) is sent by a thread while the response is being read, so a
    response may come before the body ends.
    """
    pseudo = [(":method", method), (":scheme", "http"), (":authority", "test"), (":path", path)]
    with socket.create_connection(address, timeout) as connection:
        if http2:
            return _http2(connection, [*pseudo, *headers], body)
        plain = list(headers)
        if all(name.lower() != "host" for name, _ in plain):
            plain.insert(0, ("host", "test"))
        return _http1(connection, method, path, plain, body)


def _upload(send: Callable[[], None]) -> None:
    def quietly() -> None:
        try:
            send()
        except (OSError, h11.LocalProtocolError, h2.exceptions.ProtocolError):
            return  # the peer has answered and left: that is what the test looks at

    threading.Thread(target=quietly, daemon=True).start()


class _Http1:
    """An h11 client connection that one thread may send on while another receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._h11 = h11.Connection(h11.CLIENT)
        self._lock = threading.Lock()

    def send(self, event: h11.Event) -> None:
        with self._lock:
            data = self._h11.send(event)
        self._socket.sendall(data or b"")

    def receive(self) -> h11.Event | None:
        """The next event; None when the connection ended before the response did."""
        try:
            while True:
                with self._lock:
                    event = self._h11.next_event()
                if isinstance(event, h11.ConnectionClosed):
                    return None
                if isinstance(event, h11.Event):
                    return event
                data = self._socket.recv(65_536)
                with self._lock:
                    self._h11.receive_data(data)
        except (h11.RemoteProtocolError, ConnectionResetError):
            return None


def _http1(
    connection: socket.socket, method: str, path: str, headers: Pairs, body: bytes | Iterable[bytes]
) -> RawResponse:
    http = _Http1(connection)
    if not isinstance(body, bytes):
        headers.append(("transfer-encoding", "chunked"))
    elif body:
        headers.append(("content-length", str(len(body))))

    def send() -> None:
        for piece in [body] if isinstance(body, bytes) else body:
            http.send(h11.Data(data=piece))
        http.send(h11.EndOfMessage())

    http.send(h11.Request(method=method, target=path, headers=headers))
    _upload(send)
    response = RawResponse()
    while not response.complete and (event := http.receive()):
        if isinstance(event, h11.Response):
            response.status, response.headers = event.status_code, _pairs(event.headers)
        elif isinstance(event, h11.InformationalResponse):
            response.informational.append(event.status_code)
        elif isinstance(event, h11.Data):
            response.body += event.data
        elif isinstance(event, h11.EndOfMessage):
            response.trailers, response.complete = _pairs(event.headers), True
    return response


def _pairs(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    return [(name.decode(), value.decode("latin-1")) for name, value in headers]


def _http2(connection: socket.socket, headers: Pairs, body: bytes | Iterable[bytes]) -> RawResponse:
    http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
    changed = threading.Condition()
    http.initiate_connection()
    http.increment_flow_control_window(_WINDOW)
    http.send_headers(1, headers, end_stream=body == b"")
    connection.sendall(http.data_to_send())

    def put(piece: bytes) -> None:
        while piece:
            with changed:
                changed.wait_for(lambda: http.local_flow_control_window(1) > 0)
                room = min(http.local_flow_control_window(1), http.max_outbound_frame_size)
                http.send_data(1, piece[:room])
                connection.sendall(http.data_to_send())
            piece = piece[room:]

    def send() -> None:
        for piece in [body] if isinstance(body, bytes) else body:
            put(piece)
        with changed:
            http.end_stream(1)
            connection.sendall(http.data_to_send())

    if body != b"":
        _upload(send)
    response = RawResponse()
    ended = False
    while not ended:
        try:
            data = connection.recv(65_536)
        except ConnectionResetError:
            break
        with changed:
            events = http.receive_data(data)
            ended = not data or [_take(http, event, response) for event in events].count(True) > 0
            changed.notify_all()
            if data:
                connection.sendall(http.data_to_send())
    return response


def absorb(event: h2.events.Event, response: RawResponse) -> bool:
    """Add an HTTP/2 event to the response that it belongs to; say whether it was the last."""
    if isinstance(event, h2.events.InformationalResponseReceived):
        response.informational.append(int(str(event.headers[0][1])))
    elif isinstance(event, h2.events.ResponseReceived):
        pseudo, *plain = ((str(name), str(value)) for name, value in event.headers)
        response.status, response.headers = int(pseudo[1]), plain
    elif isinstance(event, h2.events.DataReceived):
        response.body += event.data
    elif isinstance(event, h2.events.TrailersReceived):
        response.trailers = [(str(name), str(value)) for name, value in event.headers]
    elif isinstance(event, h2.events.StreamReset):
        response.reset = event.error_code
    response.complete = response.complete or isinstance(event, h2.events.StreamEnded)
    return response.complete or isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated)


def _take(http: h2.connection.H2Connection, event: h2.events.Event, response: RawResponse) -> bool:
    """`absorb`, and make room for more."""
    if isinstance(event, h2.events.DataReceived):
        http.acknowledge_received_data(event.flow_controlled_length, 1)
    return absorb(event, response)
