"""Real gRPC clients and servers on both sides of Envoy: every kind of call, alone and many at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from tests.runtime.profiles import always, seconds
from tests.support import route, static_bootstrap
from tests.support.rpc import PIECES, RpcServer, channel

from .survivors import HOLD, PACE, Envoys, cluster_counter, promised, wait_held

LARGE = b"x" * 100_000
HUGE = b"x" * 3_000_000
ROUTES = [
    PACE,
    route("/delay.", always(200, HOLD)),
    route("/forced.", always(503, HOLD)),
    route("/rewritten.", always(503, HOLD, override="upstream_response")),
    route("/now.", always(503, override="upstream_response")),
    route("/long.", always(200, "10s")),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RpcServer]:
    with RpcServer() as running:
        yield running


def config(server: RpcServer, position: str, limit: int | None = None) -> dict[str, Any]:
    made = static_bootstrap(server.port, routes=ROUTES, position=position, http2=True)
    if limit:
        made["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = limit
    return made


def code_of(call: Any, request: Any) -> grpc.StatusCode:
    """How a call ends."""
    try:
        answer = call(request, timeout=15)
        if not isinstance(answer, bytes):
            list(answer)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


@pytest.mark.parametrize("limit", [None, 16_384], ids=["usual", "small"])
def test_each_kind_of_call(envoys: Envoys, server: RpcServer, position: str, limit: int | None) -> None:
    """Messages of any size, and statuses, come as the server sent them."""
    with envoys.on(config(server, position, limit)) as envoy, channel(envoy.address()) as calls:
        for message in (b"", b"x", LARGE, HUGE):
            assert calls.unary_unary("/delay.S/Unary")(message, timeout=15) == message
            assert list(calls.unary_stream("/delay.S/Download")(message, timeout=15)) == [message] * PIECES
            pieces = [message] * 3
            total = str(3 * len(message)).encode()
            assert calls.stream_unary("/delay.S/Upload")(iter(pieces), timeout=15) == total
            assert list(calls.stream_stream("/delay.S/Chat")(iter(pieces), timeout=15)) == pieces
        assert code_of(calls.unary_unary("/delay.S/Fail"), b"") is grpc.StatusCode.ABORTED
        refused = code_of(calls.stream_unary("/delay.S/Refuse"), iter([LARGE] * 3))
        assert refused is grpc.StatusCode.PERMISSION_DENIED
        assert code_of(calls.unary_unary("/delay.S/None"), b"") is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("service", ["forced", "rewritten", "now"])
def test_each_kind_of_call_fails(envoys: Envoys, server: RpcServer, position: str, service: str) -> None:
    """An injected 503 is UNAVAILABLE with its message, whatever the server would have said."""
    with envoys.on(config(server, position)) as envoy, channel(envoy.address()) as calls:
        for message in (b"x", LARGE):
            for kind, name, request in (
                (calls.unary_unary, "Unary", message),
                (calls.unary_stream, "Download", message),
                (calls.stream_unary, "Upload", iter([message] * 3)),
                (calls.stream_stream, "Chat", iter([message] * 3)),
                (calls.unary_unary, "Fail", message),
                (calls.stream_unary, "Refuse", iter([message] * 3)),
            ):
                code = code_of(kind(f"/{service}.S/{name}"), request)
                assert code is grpc.StatusCode.UNAVAILABLE, name


def test_many_calls_on_one_connection(envoys: Envoys, server: RpcServer, position: str) -> None:
    """Twenty at once, some large, each with its delay where the place can give it."""
    with (
        envoys.on(config(server, position)) as envoy,
        channel(envoy.address()) as calls,
        ThreadPoolExecutor(20) as pool,
    ):
        call = calls.unary_unary("/delay.S/Unary")
        messages = [LARGE if number % 3 else b"x" for number in range(200)]
        answers = pool.map(lambda message: call.with_call(message, timeout=15), messages)
        for message, (answer, info) in zip(messages, answers, strict=True):
            assert answer == message
            told = {name: str(value) for name, value in info.initial_metadata()}
            if promised(position, alone=False):
                taken = seconds(told["x-fault-actual-upstream"])
                taken += seconds(told.get("x-fault-added-delay", "0s"))
                assert taken >= seconds(HOLD) - 1e-6


def test_calls_that_are_given_up(envoys: Envoys, server: RpcServer, position: str) -> None:
    """Deadlines and cancellations during a hold leave nothing behind."""
    with envoys.on(config(server, position)) as envoy, channel(envoy.address()) as calls:
        if position == "upstream":
            # Let go when its trailers come.
            assert calls.unary_unary("/long.S/Unary")(b"x", timeout=5) == b"x"
            assert cluster_counter(envoy, "skipped_trailers") > 0
            return
        futures = [calls.unary_unary("/long.S/Unary").future(LARGE, timeout=5) for _ in range(10)]
        wait_held(envoy, 10)
        for future in futures:
            future.cancel()
        with pytest.raises(grpc.RpcError) as failed:
            calls.unary_unary("/long.S/Unary")(b"x", timeout=0.1)
        assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
