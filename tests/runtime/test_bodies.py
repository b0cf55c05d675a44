"""Responses of every shape that are held, or replaced while they stream."""

import socket
import time
from collections.abc import Iterator

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, faults, own

EIGHT_MB = 8 * 1024 * 1024
ROUTES = [
    route("/forced/", always(503, "30ms")),
    route("/", always(200, "100ms")),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        "/big": Behaviour(size=EIGHT_MB),
        "/chunked": Behaviour(size=100_000, chunked=True),
        "/paused": Behaviour(body=b"late", pause=0.15),
        "/trailers": Behaviour(body=b"x", trailers=(("x-end", "yes"),)),
        "/empty": Behaviour(body=b""),
        "/forced/endless": Behaviour(endless=0.001),
        "/forced/big": Behaviour(size=EIGHT_MB),
        "/forced/trailers": Behaviour(body=b"x", trailers=(("x-end", "yes"),)),
        "/cut": Behaviour(reset="after"),
    }
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module", params=["http1", "http2"])
def envoy(upstream: Upstream, request: pytest.FixtureRequest) -> Iterator[EnvoyProcess]:
    config = static_bootstrap(upstream.port, routes=ROUTES, http2=request.param == "http2")
    with EnvoyProcess(config) as process:
        yield process


@pytest.fixture(params=[False, True], ids=["client-http1", "client-http2"])
def http2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_eight_megabytes_are_held_and_arrive_whole(envoy: EnvoyProcess, http2: bool) -> None:
    """A held body beyond Envoy's buffers is neither lost nor turned into a 500, and is not kept in memory."""
    before = envoy.stat("server.memory_allocated")
    started = time.monotonic()
    answer = exchange(envoy.address(), path="/big", http2=http2)
    assert time.monotonic() - started >= 0.1
    assert (answer.status, len(answer.body), answer.complete) == (200, EIGHT_MB, True)
    assert bytes(answer.body[-16:]) == b"0123456789abcdef"
    assert envoy.stat("server.memory_allocated") - before < EIGHT_MB


@pytest.mark.parametrize(
    ("path", "size", "trailers"),
    [("/chunked", 100_000, []), ("/trailers", 1, [("x-end", "yes")]), ("/empty", 0, [])],
)
def test_shapes_pass_unchanged(
    envoy: EnvoyProcess, http2: bool, path: str, size: int, trailers: list[tuple[str, str]]
) -> None:
    """Chunks, trailers and empty bodies come out of a hold as they went in."""
    started = time.monotonic()
    answer = exchange(envoy.address(), path=path, http2=http2)
    assert time.monotonic() - started >= 0.1
    assert (answer.status, len(answer.body), answer.trailers) == (200, size, trailers)
    assert answer.complete


def test_a_body_that_comes_after_the_hold(envoy: EnvoyProcess, http2: bool) -> None:
    """The body of a response may come later than its released headers."""
    answer = exchange(envoy.address(), path="/paused", http2=http2)
    assert (answer.status, bytes(answer.body), answer.complete) == (200, b"late", True)


@pytest.mark.parametrize("path", ["/forced/endless", "/forced/big", "/forced/trailers"])
def test_a_forced_status_over_a_streaming_upstream(
    envoy: EnvoyProcess, upstream: Upstream, http2: bool, path: str
) -> None:
    """The reply is complete while the upstream still streams, and the upstream is let go."""
    answer = exchange(envoy.address(), path=path, http2=http2)
    assert (answer.status, bytes(answer.body)) == (503, b"fault filter abort: 503\n")
    assert answer.complete
    assert answer.trailers == []
    assert own(answer) == {"content-type": "text/plain", "content-length": "24"}
    upstream.wait_for(lambda server: server.open_streams == 0)


def test_an_upstream_that_is_cut_while_held(envoy: EnvoyProcess, http2: bool) -> None:
    """An upstream that resets after its headers ends the request, not Envoy, and nothing stays in flight."""
    answer = exchange(envoy.address(), path="/cut", http2=http2)
    assert not answer.complete or answer.status in {502, 503}
    wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
    assert envoy.stat("cluster.upstream.brownout.held") == 0
    assert faults(exchange(envoy.address(), path="/empty"))["x-fault-requests-in-flight"] == "0"


def test_a_client_that_leaves_while_held(envoy: EnvoyProcess) -> None:
    """A hold whose client has gone leaves no timer and nothing in flight."""
    for _ in range(10):
        with socket.create_connection(envoy.address()) as client:
            client.sendall(b"GET /empty HTTP/1.1\r\nhost: a\r\n\r\n")
            envoy.wait_stat("cluster.upstream.brownout.held")
    wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
    assert envoy.stat("cluster.upstream.brownout.held") == 0
