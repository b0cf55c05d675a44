"""Envoy ends cleanly whatever is held at that moment."""

import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import always

CLIENTS = 50
STALLED_COMMIT = Path(__file__).parent / "double" / "stalled_commit.c"


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


def stall(envoy: EnvoyProcess) -> None:
    """Ask until a commit had to wake the worker: not while that was awake anyhow."""
    for _ in range(10):
        assert exchange(envoy.address()).status == 200
        with suppress(AssertionError):
            envoy.wait_log("timer thread stalled", timeout=1)
            return
    raise AssertionError("no commit woke the worker")


def test_the_timer_thread_leaves_envoy_before_envoy_ends(version: str, tmp_path: Path) -> None:
    """A commit that lasts until the end of the process is waited for: it keeps an object of Envoy's alive."""
    library = tmp_path / "stalled_commit.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", STALLED_COMMIT, "-o", library, "-ldl"], check=True
    )
    with (
        Upstream() as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", always(200, "5ms"))]),
            version=version,
            env={"LD_PRELOAD": str(library)},
        ) as envoy,
    ):
        stall(envoy)
        envoy.stop()
        assert envoy.log.index("timer thread goes on") < envoy.log.index("] exiting")
        envoy.start()  # the block ends it once more
