"""Upstreams that answer before the request has ended, on each Envoy version.

Envoy does not survive a filter of the cluster that holds such an answer. With the filter in both places the
connection manager's holds it, for as long as any other; the cluster's alone lets it pass at once. Each test
ends with the Envoy process alive and serving.
"""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

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

from .profiles import always, faults, response, seconds

DELAY = 0.4
HOLD = "400ms"
QUICK = 0.3
PREFIX = "cluster.upstream.brownout"
LEFT = (f"{PREFIX}.in_flight", f"{PREFIX}.held", "brownout.in_flight", "brownout.held")
TEXT = b"fault filter abort: 503\n"
EARLY = Behaviour(status=401, body=b"who are you?\n", early=True)
OVERRIDE = "upstream_response"
RULES = {
    "pass": (always(401, HOLD), 401),
    "force": (always(503, HOLD), 503),
    "rewrite": (always(503, HOLD, override=OVERRIDE), 503),
}
SHAPES = {
    "body": EARLY,
    "slow-body": EARLY.with_changes(pause=0.05),
    "headers": EARLY.with_changes(body=b""),
    "trailers": EARLY.with_changes(trailers=(("x-end", "1"),)),
    "large": EARLY.with_changes(size=2_000_000),
    "abandons": EARLY.with_changes(abandons=True),
    "abandons-with-trailers": EARLY.with_changes(abandons=True, trailers=(("x-end", "1"),)),
    "abandons-large": EARLY.with_changes(abandons=True, size=200_000),
    "abandons-headers": EARLY.with_changes(abandons=True, body=b""),
    "leaves": EARLY.with_changes(leaves=True),
}
RETRY = {"retry_on": "5xx", "num_retries": 2, "retry_back_off": {"base_interval": "0.001s"}}
ROUTES = [
    *(route(f"/{way}/", rule) for way, (rule, _) in RULES.items()),
    route("/timeout/", always(401, HOLD), timeout="0.2s"),
    route("/retry/", always(503, HOLD, override=OVERRIDE), retry_policy=RETRY),
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


class Place(NamedTuple):
    """An Envoy, and what it is."""

    envoy: EnvoyProcess
    upstream: Upstream
    http2: bool
    position: str


def bootstrap(upstream: Upstream, **options: Any) -> dict[str, Any]:
    return static_bootstrap(upstream.port, routes=ROUTES, **options)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    ways = [*RULES, "timeout", "retry"]
    paths = {f"/{way}/{shape}": behaviour for way in ways for shape, behaviour in SHAPES.items()}
    with Upstream(paths, default=EARLY) as server:
        yield server


@pytest.fixture(scope="module", params=["http1", "http2"])
def both(upstream: Upstream, version: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    """The filter in both places."""
    http2 = request.param == "http2"
    with EnvoyProcess(bootstrap(upstream, http2=http2), version=version) as process:
        yield Place(process, upstream, http2, "both")


@pytest.fixture(scope="module", params=["http1", "http2"])
def alone(upstream: Upstream, version: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    """The cluster's filter alone."""
    http2 = request.param == "http2"
    config = bootstrap(upstream, http2=http2, position="upstream")
    with EnvoyProcess(config, version=version) as process:
        yield Place(process, upstream, http2, "upstream")


@pytest.fixture(params=[False, True], ids=["client-http1", "client-http2"])
def http2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def uploaded(
    envoy: EnvoyProcess,
    path: str,
    *,
    ends_after: float | None = None,
    headers: Iterable[tuple[str, str]] = (),
    http2: bool = False,
) -> tuple[RawResponse, float]:
    """The answer to a request that runs for so long (None: until it is answered), and how long it took."""
    upload = Upload()
    timer = None if ends_after is None else threading.Timer(ends_after, upload.end)
    started = time.monotonic()
    if timer:
        timer.start()
    answer = exchange(envoy.address(), "POST", path, body=upload, headers=headers, http2=http2)
    took = time.monotonic() - started
    upload.end()
    if timer:
        timer.join()
    return answer, took


def expect(
    answer: RawResponse, behaviour: Behaviour, status: int, *, http2: bool, ends_after: float | None = None
) -> None:
    """The upstream's answer, or the one in its place, whole.

    Envoy itself ends the stream of an HTTP/2 client that has not ended its request when it has handed over
    the answer, also what the client's window has no room for yet.
    """
    size = len(behaviour.body) if behaviour.size is None else behaviour.size
    size = size if status == 401 else len(TEXT)
    if http2 and ends_after is None and size > 65_535:
        assert answer.status == status
        assert len(answer.body) >= 65_535
        return
    assert (answer.status, len(answer.body), answer.complete) == (status, size, True)
    assert answer.trailers == (list(behaviour.trailers) if status == 401 else [])


@pytest.mark.parametrize("ends_after", [None, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", RULES)
def test_in_both_places_its_delay_is_whole(
    both: Place, way: str, shape: str, ends_after: float | None, http2: bool
) -> None:
    """Whatever it looks like, whether the request ends meanwhile or never, and even if it is reset.

    HTTP/2 lets an upstream answer, and then reset the stream with NO_ERROR: the answer stands.
    """
    behaviour, status = SHAPES[shape], RULES[way][1]
    if not both.http2 and shape == "abandons-large":
        pytest.skip("the end of an HTTP/1 connection may discard what Envoy has not read of it yet")
    if both.envoy.version == "1.38.3" and (behaviour.size or 0) > 1 << 20 and ends_after and not http2:
        pytest.skip("Envoy 1.38 never resumes what is beyond its buffers if an HTTP/1 request ends meanwhile")
    answer, took = uploaded(both.envoy, f"/{way}/{shape}", ends_after=ends_after, http2=http2)
    expect(answer, behaviour, status, http2=http2, ends_after=ends_after)
    assert took >= DELAY
    found = faults(answer)
    assert (found["x-fault-status"], found["x-fault-upstream-status"]) == (str(status), "401")
    added = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
    assert added == pytest.approx(DELAY, abs=1e-6)
    assert not [name for name, _ in answer.headers if name.startswith("x-brownout")]
    both.envoy.wait_none(*LEFT)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "large"])
def test_the_upstreams_stream_ends(both: Place, shape: str) -> None:
    """Also if the client goes on with its request after it was answered."""
    uploaded(both.envoy, f"/pass/{shape}", ends_after=DELAY / 2)
    both.envoy.wait_none("cluster.upstream.upstream_rq_active", "cluster.upstream.http2.streams_active")
    both.upstream.wait_for(lambda server: server.open_streams == 0)


def test_nothing_is_skipped_in_both_places(upstream: Upstream, version: str) -> None:
    """It counts as delayed, and as held for as long as it is."""
    with EnvoyProcess(bootstrap(upstream), version=version) as envoy:
        upload = Upload()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(exchange, envoy.address(), "POST", "/pass/body", body=upload)
            envoy.wait_stat("brownout.held")
            assert waiting.result().status == 401
            upload.end()
        assert envoy.stat(f"{PREFIX}.delayed_4xx") == 1
        assert envoy.stat(f"{PREFIX}.skipped_early") == envoy.stat("brownout.skipped_early") == 0
        assert "brownout: " not in envoy.log


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", RULES)
def test_the_filter_of_the_cluster_alone_lets_it_pass(
    alone: Place, way: str, shape: str, http2: bool
) -> None:
    """At once, described, replaced where that was drawn, and counted as skipped."""
    behaviour, status = SHAPES[shape], RULES[way][1]
    skipped = alone.envoy.stat(f"{PREFIX}.skipped_early")
    answer, took = uploaded(alone.envoy, f"/{way}/{shape}", http2=http2)
    expect(answer, behaviour, status, http2=http2)
    assert took < QUICK
    found = faults(answer)
    assert found["x-fault-injected-delay"] == HOLD
    assert "x-fault-added-delay" not in found
    assert alone.envoy.stat(f"{PREFIX}.skipped_early") == skipped + 1
    alone.envoy.wait_log("brownout: a request passed the filter of a cluster")
    assert alone.envoy.log.count("brownout: ") == 1  # it says so once


@pytest.mark.parametrize("way", RULES)
def test_the_client_leaves_during_its_upload(both: Place, way: str) -> None:
    """A client that closes right after its request, or during the hold, harms nothing."""
    for pause in (0.0, 0.05):
        for _ in range(10):
            with socket.create_connection(both.envoy.address()) as client:
                client.sendall(
                    f"POST /{way}/body HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n".encode()
                    + b"x" * 1000
                )
                time.sleep(pause)
    assert exchange(both.envoy.address(), path=f"/{way}/body").status in {401, 503}
    both.envoy.wait_none(*LEFT)


def test_a_route_timeout_shorter_than_the_delay(both: Place) -> None:
    """The router has the answer already: its time-out does not cut the hold short."""
    answer, took = uploaded(both.envoy, "/timeout/body")
    assert (answer.status, bytes(answer.body)) == (401, EARLY.body)
    assert took >= DELAY


def test_the_router_retries_a_rewritten_one(both: Place) -> None:
    """It sees the status at once; the client waits for the last attempt's delay."""
    before = both.upstream.counts["/retry/body"]
    answer, took = uploaded(both.envoy, "/retry/body", ends_after=0.05)
    assert (answer.status, bytes(answer.body), answer.complete) == (503, TEXT, True)
    assert took >= DELAY
    assert both.upstream.counts["/retry/body"] == before + 3


def test_a_request_that_ended_is_held(alone: Place) -> None:
    """The same upstream, asked by a complete request, is delayed as ever."""
    started = time.monotonic()
    assert exchange(alone.envoy.address(), path="/pass/body").status == 401
    assert time.monotonic() - started >= DELAY


@pytest.mark.parametrize("position", ["upstream", "both"])
def test_the_end_of_the_request_is_still_in_envoys_buffers(position: str, version: str) -> None:
    """Envoy has the whole request, the upstream reads none of it, answers and leaves: held, and no crash."""
    routes = [route("/force", always(503, HOLD)), route("/pass", always(401, HOLD))]
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        server.bind(("127.0.0.1", 0))
        server.listen()
        config = static_bootstrap(server.getsockname()[1], routes=routes, position=position)
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
                    envoy.wait_stat(f"{PREFIX}.held")
                client.exception()
                envoy.wait_none(f"{PREFIX}.in_flight")
                envoy.admin("/reset_counters", method="POST")


@pytest.mark.parametrize("abandons", [False, True])
def test_a_call_that_is_refused_early_keeps_its_status(abandons: bool, version: str) -> None:
    """gRPC: a status in the headers, while the client still sends, as every library refuses."""
    refused = Behaviour(
        headers=(("content-type", "application/grpc"), ("grpc-status", "7"), ("grpc-message", "not you")),
        body=b"",
        early=True,
        abandons=abandons,
    )
    routes = [route("/", always(200, HOLD))]
    with (
        Upstream(default=refused) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes, http2=True), version=version) as envoy,
    ):
        headers = [("content-type", "application/grpc"), ("te", "trailers")]
        for ends_after in (0.02, None):
            answer, took = uploaded(envoy, "/", ends_after=ends_after, headers=headers, http2=True)
            told = [pair for pair in (*answer.headers, *answer.trailers) if pair[0].startswith("grpc-")]
            assert (answer.status, sorted(told)) == (200, [("grpc-message", "not you"), ("grpc-status", "7")])
            assert took >= DELAY
            assert "x-fault-added-delay" in faults(answer)
        envoy.wait_none("cluster.upstream.upstream_rq_active", "cluster.upstream.http2.streams_active")


UPGRADE = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
ACCEPTED = b"HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"


@pytest.mark.parametrize("position", ["upstream", "both"])
@pytest.mark.parametrize("sent", [b"", b"hello"])
def test_an_upgraded_connection_that_closes_at_once(sent: bytes, position: str, version: str) -> None:
    """Where its answer passes at once, all of it arrives; where it is held, Envoy says that it has gone."""
    routes = [route("/", always(200, HOLD), upgrade_configs=[{"upgrade_type": "websocket"}])]
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = static_bootstrap(server.getsockname()[1], routes=routes, position=position)
        with EnvoyProcess(config, version=version) as envoy:
            with socket.create_connection(envoy.address(), 10) as client:
                client.sendall(UPGRADE)
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(ACCEPTED + sent)
                received = b""
                while data := client.recv(65_536):
                    received += data
            head, _, rest = received.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 101" if position == "upstream" else b"HTTP/1.1 503")
            assert position == "both" or rest == sent
            assert envoy.stat(f"{PREFIX}.skipped_upgrade") == (1 if position == "upstream" else 0)
            envoy.wait_none(*LEFT, "cluster.upstream.upstream_rq_active")


def test_a_configured_answer_comes_after_its_delay(upstream: Upstream, version: str) -> None:
    """What the profile says of the reply is what the client gets, once."""
    entry = response(418, HOLD, body="teapot\n", headers=[["x-own", "1"], ["x-own", "2"]])
    rule = {"responses": [entry], "label": "tea"}
    config = static_bootstrap(upstream.port, routes=[route("/", rule)])
    with EnvoyProcess(config, version=version) as envoy:
        answer, took = uploaded(envoy, "/tea")
        assert (answer.status, bytes(answer.body), answer.complete) == (418, b"teapot\n", True)
        assert [value for name, value in answer.headers if name == "x-own"] == ["1", "2"]
        assert took >= DELAY
        assert faults(answer)["x-fault-profile"] == "tea"
        assert not [name for name, _ in answer.headers if name.startswith("x-brownout")]
        assert envoy.stat(f"{PREFIX}.injected_4xx") == 1
