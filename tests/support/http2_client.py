"""An HTTP/2 client that leaves every move to the test: windows, pauses, resets, half-sent bodies."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import Frame, GoAwayFrame

from .raw import RawResponse, absorb

SMALLEST = 65_535
LARGE = 16 * 1024 * 1024
_RECEIVE = 65_536
_Setting = h2.settings.SettingCodes


def connect(address: tuple[str, int], *, receive_buffer: int | None = None, timeout: float) -> socket.socket:
    """A TCP connection; with a small `receive_buffer` a client that does not read is soon noticed."""
    connection = socket.socket()
    connection.settimeout(timeout)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(address)
    return connection


class Http2Client:
    """One connection. Nothing is read from it but by `read`, `answer` and `read_once`.

    with Http2Client(envoy.address(), stream_window=65_535) as client:
        number = client.request(path="/big")
        assert client.answer(number).complete

    Args:
        address: where to connect.
        connection_window: for all streams together, at least 65,535.
        stream_window: for each stream.
        grants: whether room is given back as data is read; otherwise `grant()` does it.
        tls: a client context; `h2` is offered.
        receive_buffer: of the socket.
        timeout: seconds of silence after which a call fails.

    Attributes:
        answers: what has come so far, by stream.
        ended: whether the peer has closed the connection.
        last_stream: of the peer's GOAWAY, if one came.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        connection_window: int = LARGE,
        stream_window: int = LARGE,
        grants: bool = True,
        tls: ssl.SSLContext | None = None,
        receive_buffer: int | None = None,
        timeout: float = 15.0,
    ) -> None:
        self.answers: dict[int, RawResponse] = {}
        self.ended = False
        self.last_stream: int | None = None
        self._over: set[int] = set()
        self._owed: list[tuple[int, int]] = []
        self._grants = grants
        self._socket = connect(address, receive_buffer=receive_buffer, timeout=timeout)
        if tls:
            tls.set_alpn_protocols(["h2"])
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
        wanted = {
            _Setting.INITIAL_WINDOW_SIZE: stream_window,
            _Setting.ENABLE_PUSH: 0,
            _Setting.MAX_HEADER_LIST_SIZE: 1 << 20,
        }
        self._h2.local_settings = h2.settings.Settings(client=True, initial_values=wanted)
        # h2 takes nothing after a GOAWAY, but the streams that there are go on (RFC 9113, 6.8).
        self._h2._frame_dispatch_table[GoAwayFrame] = self._left
        self._h2.initiate_connection()
        if connection_window > SMALLEST:
            self._h2.increment_flow_control_window(connection_window - SMALLEST)
        self._flush()

    # -- sending

    def request(
        self,
        method: str = "GET",
        path: str = "/",
        *,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        end: bool = True,
    ) -> int:
        """Begin a request, and return its stream; without `end` more of its body is to follow."""
        number = self._h2.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "http"), (":authority", "test"), (":path", path)]
        if method == "CONNECT":
            pseudo = [(":method", method), (":authority", path)]
        self.answers[number] = RawResponse()
        self._h2.send_headers(number, [*pseudo, *headers], end_stream=end and not body)
        self._flush()
        if body:
            self.send(number, body, end=end)
        return number

    def send(self, number: int, data: bytes = b"", *, end: bool = False) -> None:
        """Send a piece of a request's body, reading while there is no room for it."""
        while data:
            self.read(lambda: self._room(number) > 0 or number in self._over)
            if number in self._over or self.ended:
                return
            room = self._room(number)
            self._h2.send_data(number, data[:room])
            self._flush()
            data = data[room:]
        if end and number not in self._over:
            self._h2.end_stream(number)
            self._flush()

    def reset(self, number: int) -> None:
        """Cancel a stream."""
        self._h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
        self._over.add(number)
        self._flush()

    def go_away(self) -> None:
        """Say that no further stream of the peer's is taken; those that there are go on."""
        self._socket.sendall(GoAwayFrame(0).serialize())

    def grant(self) -> None:
        """Give back the room of all that was read."""
        for number, length in self._owed:
            with contextlib.suppress(h2.exceptions.StreamClosedError):
                self._h2.acknowledge_received_data(length, number)
        self._owed.clear()
        self._flush()

    # -- reading

    def answer(self, number: int) -> RawResponse:
        """Read until the response of a stream, or the connection, has ended."""
        self.read(lambda: number in self._over)
        return self.answers[number]

    def read(self, until: Callable[[], bool]) -> None:
        """Read until something is true, or the connection has ended."""
        while not until() and not self.ended:
            self.read_once()

    def read_once(self, most: int = _RECEIVE) -> None:
        """Read what there is, at most so many bytes; wait if there is nothing."""
        try:
            data = self._socket.recv(most)
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            data = b""
        if not data:
            self.ended = True
            return
        for event in self._h2.receive_data(data):
            self._take(event)
        self._flush()

    def _take(self, event: h2.events.Event) -> None:
        number = getattr(event, "stream_id", None)
        if isinstance(event, h2.events.DataReceived):
            self._owed.append((event.stream_id, event.flow_controlled_length))
            if self._grants:
                self.grant()
        if number in self.answers and absorb(event, self.answers[number]):
            self._over.add(number)

    def _left(self, frame: GoAwayFrame) -> tuple[list[Frame], list[h2.events.Event]]:
        self.last_stream = frame.last_stream_id
        return [], []

    def _room(self, number: int) -> int:
        try:
            return min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size)
        except h2.exceptions.StreamClosedError:
            return 0

    def _flush(self) -> None:
        try:
            self._socket.sendall(self._h2.data_to_send())
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            self.ended = True

    def close(self) -> None:
        """Leave, with whatever is under way."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
