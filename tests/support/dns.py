"""A name server that answers when a test lets it."""

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

_A = 1
_TTL = 1


class NameServer:
    """Every name is 127.0.0.1 while `open`; `shut()` keeps questions until `open()`. Use it with `with`."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._lock = threading.Lock()
        self._kept: list[tuple[bytes, tuple[str, int]]] = []
        self._open = True
        self._asked = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def resolver(self) -> dict[str, object]:
        """Envoy's `typed_dns_resolver_config` that asks here."""
        address = {"socket_address": {"protocol": "UDP", "address": "127.0.0.1", "port_value": self.port}}
        kind = "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig"
        only = {
            "use_resolvers_as_fallback": False,
            "dns_resolver_options": {"no_default_search_domain": True},
        }
        return {"name": "cares", "typed_config": {"@type": kind, "resolvers": [address], **only}}

    def shut(self) -> None:
        """Keep questions from now on."""
        with self._lock:
            self._open = False
            self._asked.clear()

    def wait_asked(self, timeout: float = 10.0) -> None:
        """Wait until a question is kept."""
        assert self._asked.wait(timeout), "nobody asked"

    def open(self) -> None:
        """Answer all that was kept, and what comes."""
        with self._lock:
            self._open = True
            for question, peer in self._kept:
                self._socket.sendto(_answer(question), peer)
            self._kept.clear()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                question, peer = self._socket.recvfrom(4096)
                with self._lock:
                    if self._open:
                        self._socket.sendto(_answer(question), peer)
                    else:
                        self._kept.append((question, peer))
                        self._asked.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def _answer(question: bytes) -> bytes:
    """RFC 1035: the question again, and for an A record one answer that points at its name."""
    end = question.index(b"\0", 12) + 5
    (kind,) = struct.unpack("!H", question[end - 4 : end - 2])
    record = struct.pack("!HHHIH4B", 0xC00C, kind, 1, _TTL, 4, 127, 0, 0, 1) if kind == _A else b""
    header = question[:2] + struct.pack("!HHHHH", 0x8580, 1, bool(record), 0, 0)
    return header + question[12:end] + record
