"""Upstreams that answer before the request's body has ended, on each Envoy version.

Envoy crashes when a filter in upstream position holds such a response of an HTTP/1 upstream, however the
hold ends: so these are never held. Each test ends with the Envoy process alive and serving.
"""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    RawResponse,
    Upstream,
    exchange,
    route,
    static_bootstrap,
    wait_until,
)

from .profiles import always, faults

HOLD = "0.7s"
QUICK = 0.5
EARLY = Behaviour(status=401, body=b"who are you?\n", early=True)
ROUTES = [
    route("/pass", always(401, HOLD)),
    route("/force", always(503, HOLD)),
    route("/rewrite", always(503, HOLD, override="upstream_response")),
    route("/timeout", always(401, HOLD), timeout="0.2s"),
]


class Upload:
    """A request body that a test ends when it likes."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * 1000
        self._ended.wait(10)
        yield b"the end"

    def end(self) -> None:
        self._ended.set()


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(default=EARLY) as server:
        yield server


@pytest.fixture(scope="module")
def envoy(upstream: Upstream, version: str) -> Iterator[EnvoyProcess]:
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES), version=version) as process:
        yield process


def upload_early(envoy: EnvoyProcess, path: str) -> tuple[RawResponse, float]:
    """The answer to a request whose body still runs, and how long it took."""
    upload = Upload()
    started = time.monotonic()
    answer = exchange(envoy.address(), "POST", path, body=upload)
    took = time.monotonic() - started
    upload.end()
    return answer, took


def test_an_early_answer_passes_at_once(envoy: EnvoyProcess) -> None:
    """A complete early answer of the sampled status goes on undelayed, described, and counted as skipped."""
    skipped = envoy.stat("cluster.upstream.brownout.skipped_4xx")
    answer, took = upload_early(envoy, "/pass")
    assert (answer.status, bytes(answer.body)) == (401, EARLY.body)
    assert took < QUICK
    found = faults(answer)
    assert found["x-fault-injected-delay"] == "700ms"
    assert "x-fault-added-delay" not in found
    assert envoy.stat("cluster.upstream.brownout.skipped_4xx") == skipped + 1
    assert envoy.stat("cluster.upstream.brownout.held") == 0


def test_a_forced_status_answers_at_once(envoy: EnvoyProcess) -> None:
    """A forced status replaces the early answer inside the hook."""
    answer, took = upload_early(envoy, "/force")
    assert (answer.status, bytes(answer.body)) == (503, b"fault filter abort: 503\n")
    assert faults(answer)["x-fault-upstream-status"] == "401"
    assert took < QUICK


def test_a_rewritten_status_answers_at_once(envoy: EnvoyProcess) -> None:
    """`override: upstream_response` rewrites the early answer inside the hook."""
    answer, took = upload_early(envoy, "/rewrite")
    assert (answer.status, bytes(answer.body)) == (503, b"fault filter abort: 503\n")
    assert took < QUICK


@pytest.mark.parametrize("path", ["/pass", "/force", "/rewrite"])
def test_the_client_leaves_during_its_upload(envoy: EnvoyProcess, path: str) -> None:
    """A client that closes right after the early answer, or before it reads it, harms nothing."""
    for _ in range(20):
        with socket.create_connection(envoy.address()) as client:
            client.sendall(
                f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n".encode() + b"x" * 1000
            )
    assert exchange(envoy.address(), path=path).status in {401, 503}
    wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)


def test_a_route_timeout_shorter_than_the_delay(envoy: EnvoyProcess) -> None:
    """With a route timeout that a hold would have run into, the early answer passes at once all the same."""
    answer, took = upload_early(envoy, "/timeout")
    assert answer.status == 401
    assert took < QUICK


def test_a_request_that_ended_is_held(envoy: EnvoyProcess) -> None:
    """The same upstream, asked by a complete request, is delayed as ever."""
    started = time.monotonic()
    assert exchange(envoy.address(), path="/pass").status == 401
    assert time.monotonic() - started >= 0.7


def test_the_end_of_the_request_is_still_in_envoys_buffers(version: str) -> None:
    """Envoy has the whole request, the upstream reads none of it, answers and leaves: held, and no crash."""
    routes = [route("/force", always(503, HOLD)), route("/pass", always(401, HOLD))]
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        server.bind(("127.0.0.1", 0))
        server.listen()
        config = static_bootstrap(server.getsockname()[1], routes=routes)
        config["static_resources"]["clusters"][0]["upstream_bind_config"] = {
            "socket_options": [
                {
                    "level": socket.SOL_SOCKET,
                    "name": socket.SO_SNDBUF,
                    "int_value": 4096,
                    "state": "STATE_PREBIND",
                }
            ]
        }
        with EnvoyProcess(config, version=version) as envoy, ThreadPoolExecutor() as pool:
            for path in ("/pass", "/force"):
                client = pool.submit(exchange, envoy.address(), "POST", path, body=b"x" * 900_000)
                connection, _ = server.accept()
                with connection:
                    envoy.wait_stat("cluster.upstream.upstream_cx_tx_bytes_buffered")
                    wait_until(lambda: envoy.stat("http.http.downstream_cx_rx_bytes_total") >= 900_000)
                    connection.sendall(b"HTTP/1.1 401 No\r\ncontent-length: 3\r\n\r\nno\n")
                    envoy.wait_stat("cluster.upstream.brownout.held")
                client.exception()
                wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
                envoy.admin("/reset_counters", method="POST")


def test_an_http2_upstream_may_be_held_early(version: str) -> None:
    """With `upstream_protocol: http2` an early response waits its time while the request still runs."""
    rule = always(401, "0.3s", upstream_protocol="http2")
    with (
        Upstream(default=EARLY) as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", rule)], http2=True), version=version
        ) as envoy,
    ):
        answer, took = upload_early(envoy, "/")
        assert answer.status == 401
        assert took >= 0.3
        assert "x-fault-added-delay" in faults(answer)
        assert envoy.stat("cluster.upstream.brownout.delayed_4xx") == 1


EARLY_SHAPES = {
    "body": EARLY,
    "slow body": Behaviour(status=401, body=EARLY.body, early=True, pause=0.02),
    "headers": Behaviour(status=401, body=b"", early=True),
    "trailers": Behaviour(status=401, body=EARLY.body, early=True, trailers=(("x-end", "1"),)),
}
EARLY_RULES = {
    "pass": (always(401, "0.1s", upstream_protocol="http2"), 401),
    "force": (always(503, "0.1s", upstream_protocol="http2"), 503),
    "rewrite": (always(503, "0.1s", upstream_protocol="http2", override="upstream_response"), 503),
}


@pytest.mark.parametrize("rule", EARLY_RULES)
@pytest.mark.parametrize("shape", EARLY_SHAPES)
def test_the_request_ends_while_its_early_answer_is_held(shape: str, rule: str, version: str) -> None:
    """Envoy forwards nothing of it any more; the upstream's stream ends all the same."""
    config, status = EARLY_RULES[rule]
    behaviour = EARLY_SHAPES[shape]
    with (
        Upstream(default=behaviour) as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", config)], http2=True), version=version
        ) as envoy,
    ):
        for ends_after in (0.0, 0.02, 0.2):
            for http2 in (False, True):
                upload = Upload()
                timer = threading.Timer(ends_after, upload.end)
                timer.start()
                answer = exchange(envoy.address(), "POST", body=upload, http2=http2)
                timer.join()
                expected = behaviour.body if status == 401 else b"fault filter abort: 503\n"
                assert (answer.status, bytes(answer.body), answer.complete) == (status, expected, True)
                assert faults(answer)["x-fault-status"] == str(status)
        envoy.wait_none(*(f"cluster.upstream.{name}" for name in ("brownout.in_flight", "brownout.held")))
        envoy.wait_none("cluster.upstream.upstream_rq_active", "cluster.upstream.http2.streams_active")
        upstream.wait_for(lambda server: server.open_streams == 0)


def test_a_call_that_is_refused_early_keeps_its_status(version: str) -> None:
    """gRPC: a status in the headers, while the client still sends."""
    refused = Behaviour(
        headers=(("content-type", "application/grpc"), ("grpc-status", "7"), ("grpc-message", "not you")),
        body=b"",
        early=True,
    )
    rule = always(200, "0.1s", upstream_protocol="http2")
    with (
        Upstream(default=refused) as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", rule)], http2=True), version=version
        ) as envoy,
    ):
        upload = Upload()
        timer = threading.Timer(0.02, upload.end)
        timer.start()
        headers = [("content-type", "application/grpc"), ("te", "trailers")]
        answer = exchange(envoy.address(), "POST", headers=headers, body=upload, http2=True)
        timer.join()
        told = [pair for pair in (*answer.headers, *answer.trailers) if pair[0].startswith("grpc-")]
        assert (answer.status, sorted(told)) == (200, [("grpc-message", "not you"), ("grpc-status", "7")])
        assert "x-fault-added-delay" in faults(answer)
        envoy.wait_none("cluster.upstream.upstream_rq_active", "cluster.upstream.http2.streams_active")


def test_an_upgraded_connection_that_closes_while_its_answer_is_held(version: str) -> None:
    """The upstream accepts the upgrade and leaves before the client knows: Envoy says so, and lives on."""
    routes = [route("/", always(200, "0.1s"), upgrade_configs=[{"upgrade_type": "websocket"}])]
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = static_bootstrap(server.getsockname()[1], routes=routes)
        with EnvoyProcess(config, version=version) as envoy:
            for sent in (b"", b"hello"):
                with socket.create_connection(envoy.address()) as client:
                    client.sendall(
                        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
                    )
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(65_536)
                        connection.sendall(
                            b"HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n" + sent
                        )
                    client.settimeout(10)
                    received = b""
                    while data := client.recv(65_536):
                        received += data
                    assert received.startswith(b"HTTP/1.1 503")
            envoy.wait_none("cluster.upstream.brownout.in_flight", "cluster.upstream.upstream_rq_active")
