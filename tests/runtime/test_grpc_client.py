"""What a real gRPC client makes of injected faults: unary calls and streams."""

import time
from collections.abc import Iterator

import grpc
import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, route, static_bootstrap

from .profiles import always

ROUTES = [
    route("/abort.Service/", always(503, "20ms")),
    route("/override.Service/", always(503, "20ms", override="upstream_response")),
    route("/delay.Service/", always(200, "150ms")),
]


@pytest.fixture(scope="module")
def channel(version: str) -> Iterator[grpc.Channel]:
    with (
        Upstream(default=Behaviour.grpc(b"hello")) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES, http2=True), version=version) as envoy,
        grpc.insecure_channel("{}:{}".format(*envoy.address())) as opened,
    ):
        yield opened


@pytest.mark.parametrize("service", ["abort", "override"])
def test_an_injected_503_is_unavailable(channel: grpc.Channel, service: str) -> None:
    """Both ways of forcing a status are UNAVAILABLE with the message."""
    call = channel.unary_unary(f"/{service}.Service/Method")
    with pytest.raises(grpc.RpcError) as failed:
        call(b"request", timeout=10)
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert failed.value.details() == "fault filter abort: 503"


def test_a_delayed_call(channel: grpc.Channel) -> None:
    """A delayed call returns its message."""
    started = time.monotonic()
    assert channel.unary_unary("/delay.Service/Method")(b"request", timeout=10) == b"hello"
    assert time.monotonic() - started >= 0.15


def test_a_delayed_stream(channel: grpc.Channel) -> None:
    """A stream of requests whose response is delayed returns its messages."""
    started = time.monotonic()
    call = channel.stream_stream("/delay.Service/Stream")
    assert list(call(iter([b"one", b"two"]), timeout=10)) == [b"hello"]
    assert time.monotonic() - started >= 0.15
