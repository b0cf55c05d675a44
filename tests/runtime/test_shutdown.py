"""Envoy ends cleanly whatever is held at that moment."""

import socket
from contextlib import ExitStack

from tests.support import EnvoyProcess, Upstream, route, static_bootstrap

from .profiles import always

CLIENTS = 50


def test_sigterm_while_responses_are_held_and_released(version: str) -> None:
    """SIGTERM in the middle of long holds and of timers that fire all the time is a clean exit."""
    routes = [route("/long", always(200, "60s")), route("/short", always(503, "1ms"))]
    with Upstream() as upstream:
        for _ in range(3):
            with (
                EnvoyProcess(
                    static_bootstrap(upstream.port, routes=routes), version=version, concurrency=2
                ) as envoy,
                ExitStack() as open_connections,
            ):
                for number in range(CLIENTS):
                    client = open_connections.enter_context(socket.create_connection(envoy.address()))
                    path = "/long" if number % 2 else "/short"
                    client.sendall(
                        f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode() * (1 if number % 2 else 500)
                    )
                envoy.wait_stat("cluster.upstream.brownout.held", CLIENTS // 2)
                envoy.stop()
                envoy.start()  # the block ends it once more
