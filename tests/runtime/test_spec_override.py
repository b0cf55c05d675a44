"""`override: upstream_response` over responses without an end."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, route, static_bootstrap, wait_until

from .profiles import always

TEXT = b"fault filter abort: 503\n"
PREFIX = "cluster.upstream"
ENDLESS = Behaviour(endless=0.001)
RETRY = {"retry_on": "5xx", "num_retries": 2, "retry_back_off": {"base_interval": "0.001s"}}


def overriding(latency: str, **fields: Any) -> dict[str, Any]:
    return always(503, latency, override="upstream_response", **fields)


ROUTES = [
    route("/held/route-timeout", overriding("20ms"), timeout="0.4s"),
    route("/now/route-timeout", overriding("0s"), timeout="0.4s"),
    route("/held/duration", overriding("20ms"), max_stream_duration={"max_stream_duration": "0.4s"}),
    route("/now/duration", overriding("0s"), max_stream_duration={"max_stream_duration": "0.4s"}),
    route("/held/leave", overriding("20ms")),
    route("/now/leave", overriding("0s")),
    route("/held/retry", overriding("20ms"), retry_policy=RETRY, timeout="1s"),
    route("/now/retry", overriding("0s"), retry_policy=RETRY, timeout="1s"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(default=ENDLESS) as server:
        yield server


@pytest.fixture(scope="module", params=["http1", "http2"])
def envoy(upstream: Upstream, request: pytest.FixtureRequest) -> Iterator[EnvoyProcess]:
    config = static_bootstrap(upstream.port, routes=ROUTES, http2=request.param == "http2")
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["delayed_close_timeout"] = "0.1s"  # after a reset the client's connection is closed this late
    with EnvoyProcess(config) as process:
        yield process


@pytest.fixture(params=["held", "now"])
def way(request: pytest.FixtureRequest) -> str:
    """Whether the answer is delayed or given inside the hook."""
    return str(request.param)


@contextmanager
def http1(envoy: EnvoyProcess, path: str) -> Iterator[tuple[bytes, socket.socket]]:
    """A client that stays after it has read the new body."""
    with socket.create_connection(envoy.address(), 10) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        received = b""
        while not received.endswith(TEXT):
            received += client.recv(65_536)
        yield received, client


def freed(envoy: EnvoyProcess, upstream: Upstream) -> None:
    """Wait until neither side has anything of the request left."""
    upstream.wait_for(lambda server: server.open_streams == 0)
    wait_until(lambda: envoy.stat(f"{PREFIX}.upstream_rq_active") == 0)
    wait_until(lambda: envoy.stat(f"{PREFIX}.brownout.in_flight") == 0)
    assert envoy.stat(f"{PREFIX}.brownout.held") == 0


def freed_with_its_connection(envoy: EnvoyProcess, upstream: Upstream) -> None:
    """An HTTP/1 connection in the middle of a response cannot be used again."""
    freed(envoy, upstream)
    if not envoy.stat(f"{PREFIX}.upstream_cx_http2_total"):
        wait_until(lambda: envoy.stat(f"{PREFIX}.upstream_cx_active") == 0)
        upstream.wait_for(lambda server: server.open_connections == 0)


@pytest.mark.parametrize("end", ["route-timeout", "duration"])
def test_a_timeout_frees_an_endless_response(
    envoy: EnvoyProcess, upstream: Upstream, way: str, end: str
) -> None:
    """The client has the new body and stays: the route's timeout or the stream's longest duration ends it."""
    started = time.monotonic()
    with http1(envoy, f"/{way}/{end}") as (received, client):
        assert received.startswith(b"HTTP/1.1 503")
        assert upstream.open_streams == 1
        freed_with_its_connection(envoy, upstream)
        assert time.monotonic() - started >= 0.4
        while data := client.recv(65_536):
            raise AssertionError(f"after the body there came {data!r}")


@pytest.mark.parametrize("end", ["route-timeout", "duration"])
def test_a_timeout_resets_the_client_s_stream(
    envoy: EnvoyProcess, upstream: Upstream, way: str, end: str
) -> None:
    """An HTTP/2 client gets the whole new body and then, at the timeout, a reset of this stream alone."""
    client = h2.connection.H2Connection(h2.config.H2Configuration())
    client.initiate_connection()
    request = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", f"/{way}/{end}")]
    client.send_headers(1, request, end_stream=True)
    events: list[h2.events.Event] = []
    with socket.create_connection(envoy.address(), 10) as connection:
        while not any(isinstance(event, h2.events.StreamReset | h2.events.StreamEnded) for event in events):
            connection.sendall(client.data_to_send())
            data = connection.recv(65_536)
            assert data
            events += client.receive_data(data)
        body = b"".join(event.data or b"" for event in events if isinstance(event, h2.events.DataReceived))
        freed_with_its_connection(envoy, upstream)
    assert body == TEXT
    assert not any(isinstance(event, h2.events.ConnectionTerminated) for event in events)


def test_a_client_that_leaves_frees_an_endless_response(
    envoy: EnvoyProcess, upstream: Upstream, way: str
) -> None:
    """Nothing of it stays, the upstream's connection neither."""
    with http1(envoy, f"/{way}/leave"):
        pass
    freed_with_its_connection(envoy, upstream)


def test_a_retry_frees_an_endless_response(envoy: EnvoyProcess, upstream: Upstream, way: str) -> None:
    """Attempts that are given up end with it; the last one's body is delivered, until the timeout."""
    path = f"/{way}/retry"
    before = upstream.counts[path]
    with http1(envoy, path) as (received, _):
        assert received.startswith(b"HTTP/1.1 503")
        assert upstream.counts[path] == before + 3
        upstream.wait_for(lambda server: server.open_streams == 1)
        freed_with_its_connection(envoy, upstream)
