"""WebSocket upgrades: delayed or refused before they happen, and left alone afterwards."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import EnvoyProcess, route, static_bootstrap, wait_until

from .profiles import always

UPGRADE = b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
PREFIX = "cluster.upstream.brownout"


class EchoServer:
    """Accepts every upgrade, and echoes; a path with `close` is closed right after the upgrade."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(ConnectionError):  # Envoy may reset what nobody wants any more
            head = b""
            while b"\r\n\r\n" not in head:
                if not (data := connection.recv(4096)):
                    return
                head += data
            connection.sendall(SWITCH)
            if b"close" in head:
                return
            while data := connection.recv(4096):
                connection.sendall(data)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(scope="module")
def envoy(version: str) -> Iterator[EnvoyProcess]:
    server = EchoServer()
    routes = [
        route("/delayed", always(200, "150ms")),
        route("/refused", always(503, "50ms")),
        route("/expired", always(503, "50ms", expires_at="2020-01-01T00:00:00Z")),
    ]
    config: dict[str, Any] = static_bootstrap(server.port, routes=routes)
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["upgrade_configs"] = [{"upgrade_type": "websocket"}]
    with EnvoyProcess(config, version=version) as process:
        yield process
    server.close()


def head_of(client: socket.socket) -> bytes:
    """Everything up to the end of the response's headers, or of the connection."""
    head = b""
    while b"\r\n\r\n" not in head:
        received = client.recv(1)
        if not received:
            break
        head += received
    return head


def test_an_upgrade_is_delayed_and_then_left_alone(envoy: EnvoyProcess) -> None:
    """A sampled success holds the 101 for its time; afterwards bytes flow undelayed in both directions."""
    with socket.create_connection(envoy.address()) as client:
        started = time.monotonic()
        client.sendall(UPGRADE % b"/delayed")
        head = head_of(client)
        assert time.monotonic() - started >= 0.15
        assert head.startswith(b"HTTP/1.1 101")
        assert b"x-fault-upstream-status: 101\r\n" in head
        started = time.monotonic()
        for _ in range(20):
            client.sendall(b"ping")
            assert client.recv(4) == b"ping"
        assert time.monotonic() - started < 20 * 0.15


def test_an_upgrade_is_refused(envoy: EnvoyProcess) -> None:
    """A sampled error takes the upgrade's place."""
    with socket.create_connection(envoy.address()) as client:
        client.sendall(UPGRADE % b"/refused")
        head = head_of(client)
    assert head.startswith(b"HTTP/1.1 503")
    assert b"x-fault-injected: abort\r\n" in head


def test_an_upgrade_counts_among_the_successes(envoy: EnvoyProcess) -> None:
    """A 101 has no class of its own, and is counted all the same."""
    with socket.create_connection(envoy.address()) as client:
        client.sendall(UPGRADE % b"/expired")
        assert head_of(client).startswith(b"HTTP/1.1 101")
    assert envoy.stat(f"{PREFIX}.expired_2xx") == 1


@pytest.mark.parametrize("path", [b"/delayed/close", b"/refused/close"])
def test_the_upstream_closes_while_the_upgrade_is_held(envoy: EnvoyProcess, path: bytes) -> None:
    """An upstream that leaves during the hold harms nothing."""
    for _ in range(5):
        with socket.create_connection(envoy.address()) as client:
            client.sendall(UPGRADE % path)
            head_of(client)
    wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
    assert envoy.stat(f"{PREFIX}.held") == 0


def test_the_client_leaves_while_the_upgrade_is_held(envoy: EnvoyProcess) -> None:
    """Nor does a client that does."""
    for _ in range(5):
        with socket.create_connection(envoy.address()) as client:
            client.sendall(UPGRADE % b"/delayed")
            wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") > 0)
    wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
    assert envoy.stat(f"{PREFIX}.held") == 0
