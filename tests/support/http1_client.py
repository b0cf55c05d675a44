"""An HTTP/1.1 client that leaves every byte to the test: pipelining, half requests, pauses in reading."""

import select
import socket
import struct
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from .http2_client import connect
from .raw import Pairs, RawResponse

_RECEIVE = 65_536
_NO_BODY = {204, 304}
_END = b"\r\n\r\n"


def request_bytes(
    method: str = "GET", path: str = "/", *, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
) -> bytes:
    """A request as it goes over the wire, with `content-length` if there is a body."""
    fields = [("host", "test"), *headers]
    if body and all(name != "content-length" for name, _ in fields):
        fields.append(("content-length", str(len(body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


class Http1Client:
    """One connection. What has come is read when the test asks for it.

    with Http1Client(envoy.address(), receive_buffer=4096) as client:
        client.send(request_bytes(path="/big") + request_bytes(path="/small"))
        big, small = client.answer(), client.answer()

    Args:
        address: where to connect.
        receive_buffer: of the socket.
        timeout: seconds of silence after which a call fails.
    """

    def __init__(
        self, address: tuple[str, int], *, receive_buffer: int | None = None, timeout: float = 15.0
    ) -> None:
        self._socket = connect(address, receive_buffer=receive_buffer, timeout=timeout)
        self._unread = bytearray()
        self.ended = False

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(data)

    def answer(self, method: str = "GET") -> RawResponse:
        """Read the next response, of a request of that method, up to its end or the connection's."""
        response = RawResponse()
        while (status := self._head(response)) and 100 <= status < 200 and status != 101:
            response.informational.append(status)
            response.headers = []
        response.status = status
        if status:
            self._body(response, method)
        return response

    def read(self, count: int) -> bytes:
        """Exactly so many bytes, fewer only at the connection's end."""
        self._fill(count)
        return self._taken(count)

    def readable(self, seconds: float) -> bool:
        """Whether something comes within so many seconds."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def read_once(self, most: int = _RECEIVE) -> int:
        """Take what there is from the socket, and say how many bytes; they are still to be read."""
        try:
            data = self._socket.recv(most)
        except ConnectionResetError:
            data = b""
        self._unread += data
        self.ended = not data
        return len(data)

    def _head(self, response: RawResponse) -> int:
        lines = self._until(_END).decode("latin-1").split("\r\n")
        response.headers = _fields(lines[1:])
        return int(lines[0].split()[1]) if lines[0] else 0

    def _body(self, response: RawResponse, method: str) -> None:
        length = response.header("content-length")
        connected = response.status == 101 or (method == "CONNECT" and response.status == 200)
        if connected or method == "HEAD" or response.status in _NO_BODY:
            response.complete = True
        elif response.header("transfer-encoding") == "chunked":
            self._chunks(response)
        elif length is not None:
            response.body += self.read(int(length))
            response.complete = len(response.body) == int(length)
        else:
            while self.read_once():
                pass
            response.body += self._taken(len(self._unread))
            response.complete = True

    def _chunks(self, response: RawResponse) -> None:
        while line := self._until(b"\r\n"):
            size = int(line, 16)
            if size == 0:
                trailers = self._trailers()
                response.complete = trailers is not None
                response.trailers = trailers or []
                return
            response.body += self.read(size)
            self.read(2)

    def _trailers(self) -> Pairs | None:
        lines: list[str] = []
        while not self.ended:
            line = self._until(b"\r\n")
            if not line and not self.ended:
                return _fields(lines)
            lines.append(line.decode("latin-1"))
        return None

    def _until(self, mark: bytes) -> bytes:
        """The bytes before a mark, which is read too; nothing if the connection ends before it."""
        seen = 0
        while (at := self._unread.find(mark, max(0, seen - len(mark)))) < 0:
            seen = len(self._unread)
            if not self.read_once():
                self._unread.clear()
                return b""
        found = self._taken(at)
        self._taken(len(mark))
        return found

    def _fill(self, count: int) -> None:
        while len(self._unread) < count and self.read_once():
            pass

    def _taken(self, count: int) -> bytes:
        data = bytes(self._unread[:count])
        del self._unread[:count]
        return data

    def abort(self) -> None:
        """Leave with a reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def half_close(self) -> None:
        """Say that nothing more will be sent."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Leave."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _fields(lines: list[str]) -> Pairs:
    return [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
