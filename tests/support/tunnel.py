"""An upstream for what is no HTTP any more after the first answer: WebSocket upgrades and CONNECT."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
_CONNECTED = b"HTTP/1.1 200 Connected\r\n\r\n"


class TunnelServer:
    """Accepts every upgrade and CONNECT over HTTP/1.1, and echoes; `with` starts and stops it.

    A request whose head has `x-leaves` is left right after the answer.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(ConnectionError):
            head = b""
            while b"\r\n\r\n" not in head:
                if not (data := connection.recv(4096)):
                    return
                head += data
            connection.sendall(_CONNECTED if head.startswith(b"CONNECT") else _SWITCH)
            if b"x-leaves" in head:
                return
            connection.sendall(head.partition(b"\r\n\r\n")[2])
            while data := connection.recv(4096):
                connection.sendall(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
