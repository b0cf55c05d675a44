"""`override: upstream_response`: what becomes of an upstream's response, in every shape it may have."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import faults, own, profile, response

OVERRIDE = "upstream_response"
GRPC = [("content-type", "application/grpc"), ("te", "trailers")]
TEXT = b"fault filter abort: 503\n"
UPSTREAMS_OWN = (
    ("content-type", "text/html"),
    ("x-upstream", "1"),
    ("set-cookie", "a=1"),
    ("set-cookie", "b=2"),
)
SHAPES = {
    "length": Behaviour(headers=UPSTREAMS_OWN, size=100_000),
    "chunked": Behaviour(headers=UPSTREAMS_OWN, size=100_000, chunked=True),
    "late-body": Behaviour(headers=UPSTREAMS_OWN, body=b"late", pause=0.05),
    "empty": Behaviour(headers=UPSTREAMS_OWN, body=b""),
    "headers-only": Behaviour(headers=UPSTREAMS_OWN, status=204),
    "not-modified": Behaviour(headers=UPSTREAMS_OWN, status=304),
    "trailers": Behaviour(headers=UPSTREAMS_OWN, body=b"x", trailers=(("x-end", "yes"),)),
    "only-trailers": Behaviour(headers=UPSTREAMS_OWN, body=b"", trailers=(("x-end", "yes"),)),
    "large": Behaviour(headers=UPSTREAMS_OWN, size=8 * 1024 * 1024),
}


def overriding(status: int, latency: str, **reply: Any) -> dict[str, Any]:
    """The direct shape of one status that overrides."""
    return profile(response(status, latency, **reply), override=OVERRIDE)


ROUTES = [
    route("/held/503/", overriding(503, "20ms")),
    route("/now/503/", overriding(503, "0s")),
    route("/held/204/", overriding(204, "20ms")),
    route("/now/204/", overriding(204, "0s")),
    route("/held/202/", overriding(202, "20ms")),
    route("/now/202/", overriding(202, "0s")),
    route("/held/body/", overriding(418, "20ms", body="née\n", headers=[["x-a", "1"], ["x-a", "2"]])),
    route("/now/body/", overriding(418, "0s", body="née\n", headers=[["x-a", "1"], ["x-a", "2"]])),
    route("/held/large/", overriding(503, "20ms", body="x" * 500_000)),
    route("/now/large/", overriding(503, "0s", body="x" * 500_000)),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        f"/{way}/{what}/{shape}": behaviour
        for shape, behaviour in SHAPES.items()
        for way in ("held", "now")
        for what in ("503", "204", "202", "body", "large")
    }
    paths |= {
        f"/{way}/503/endless": Behaviour(headers=UPSTREAMS_OWN, endless=0.001) for way in ("held", "now")
    }
    paths |= {f"/{way}/503/grpc": Behaviour.grpc(b"hello") for way in ("held", "now")}
    paths |= {
        f"/{way}/503/grpc-error": Behaviour(
            headers=(("content-type", "application/grpc"), ("grpc-status", "5")), body=b""
        )
        for way in ("held", "now")
    }
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module", params=["http1", "http2"])
def envoy(upstream: Upstream, request: pytest.FixtureRequest) -> Iterator[EnvoyProcess]:
    config = static_bootstrap(upstream.port, routes=ROUTES, http2=request.param == "http2")
    with EnvoyProcess(config) as process:
        yield process


@pytest.fixture(params=["held", "now"])
def way(request: pytest.FixtureRequest) -> str:
    """Whether the answer is delayed or given inside the hook."""
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["client-http1", "client-http2"])
def http2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_the_drawn_response(
    envoy: EnvoyProcess, way: str, http2: bool, shape: str
) -> None:
    """Status, headers, body and trailers are the drawn ones; nothing of the upstream's is left."""
    started = time.monotonic()
    answer = exchange(envoy.address(), path=f"/{way}/503/{shape}", http2=http2)
    if way == "held":
        assert time.monotonic() - started >= 0.02
    assert (answer.status, bytes(answer.body), answer.trailers) == (503, TEXT, [])
    assert answer.complete
    assert own(answer) == {"content-type": "text/plain", "content-length": "24"}
    found = faults(answer)
    assert found["x-fault-injected"] == "abort"
    assert found["x-fault-upstream-status"] == str(SHAPES[shape].status)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "headers-only"])
@pytest.mark.parametrize("status", [202, 204])
def test_a_status_without_a_body(envoy: EnvoyProcess, way: str, http2: bool, shape: str, status: int) -> None:
    """A forced success takes the upstream's body away."""
    answer = exchange(envoy.address(), path=f"/{way}/{status}/{shape}", http2=http2)
    assert (answer.status, bytes(answer.body), answer.trailers) == (status, b"", [])
    assert answer.complete
    assert own(answer) == ({"content-length": "0"} if status == 202 else {})


@pytest.mark.parametrize("shape", SHAPES)
def test_a_configured_response(envoy: EnvoyProcess, way: str, http2: bool, shape: str) -> None:
    """`local_response` supplies body and headers here too, repeated names included."""
    answer = exchange(envoy.address(), path=f"/{way}/body/{shape}", http2=http2)
    assert (answer.status, bytes(answer.body), answer.trailers) == (418, "née\n".encode(), [])
    assert [value for name, value in answer.headers if name == "x-a"] == ["1", "2"]
    assert own(answer)["content-length"] == "5"
    assert answer.complete


@pytest.mark.parametrize("shape", ["length", "headers-only", "only-trailers", "large"])
def test_a_large_body(envoy: EnvoyProcess, way: str, http2: bool, shape: str) -> None:
    """Half a megabyte of new body arrives whole."""
    answer = exchange(envoy.address(), path=f"/{way}/large/{shape}", http2=http2)
    assert (answer.status, len(answer.body), answer.complete) == (503, 500_000, True)


@pytest.mark.parametrize("shape", SHAPES)
def test_head(envoy: EnvoyProcess, way: str, http2: bool, shape: str) -> None:
    """HEAD gets the headers of the new body and not a byte of it; the connection stays usable."""
    answer = exchange(envoy.address(), "HEAD", f"/{way}/503/{shape}", http2=http2)
    assert (answer.status, bytes(answer.body), answer.complete) == (503, b"", True)
    assert own(answer) == {"content-type": "text/plain", "content-length": "24"}


def test_nothing_follows_the_headers_of_head_on_the_wire(envoy: EnvoyProcess, way: str) -> None:
    """Two pipelined requests, HEAD first: the second response starts right after the first one's headers."""
    head = f"HEAD /{way}/503/length HTTP/1.1\r\nhost: a\r\n\r\n"
    get = f"GET /{way}/503/length HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    with socket.create_connection(envoy.address()) as client:
        client.sendall((head + get).encode())
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    first, _, rest = received.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 503")
    assert rest.startswith(b"HTTP/1.1 503")
    assert rest.endswith(b"\r\n\r\n" + TEXT)


def test_grpc(envoy: EnvoyProcess, way: str) -> None:
    """A gRPC response becomes the standard code: in its trailers, and there alone."""
    answer = exchange(
        envoy.address(), "POST", f"/{way}/503/grpc", headers=GRPC, body=b"\0\0\0\0\0", http2=True
    )
    assert (answer.status, bytes(answer.body), answer.complete) == (200, b"", True)
    assert own(answer) == {"content-type": "application/grpc"}
    assert dict(answer.trailers) == {"grpc-status": "14", "grpc-message": "fault filter abort: 503"}


def test_grpc_trailers_only(envoy: EnvoyProcess, way: str) -> None:
    """So does one that consists of headers."""
    answer = exchange(
        envoy.address(), "POST", f"/{way}/503/grpc-error", headers=GRPC, body=b"\0\0\0\0\0", http2=True
    )
    assert (answer.status, bytes(answer.body), answer.complete) == (200, b"", True)
    assert own(answer)["grpc-status"] == "14"
    assert own(answer)["grpc-message"] == "fault filter abort: 503"


def test_an_endless_body_is_replaced_and_freed_when_the_client_leaves(
    envoy: EnvoyProcess, upstream: Upstream, way: str
) -> None:
    """The new body of an endless response is delivered; upstream and connection go when the client does."""
    with socket.create_connection(envoy.address()) as client:
        client.sendall(f"GET /{way}/503/endless HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        received = b""
        while not received.endswith(TEXT):
            received += client.recv(65_536)
    assert received.startswith(b"HTTP/1.1 503")
    upstream.wait_for(lambda server: server.open_streams == 0)
    wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
