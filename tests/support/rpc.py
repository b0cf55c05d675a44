"""A real gRPC server, on the grpc library; its client is `grpc.insecure_channel`."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import grpc

_MOST = 64 * 1024 * 1024
OPTIONS = [("grpc.max_receive_message_length", _MOST), ("grpc.max_send_message_length", _MOST)]
PIECES = 8


def _unary(message: bytes, _: grpc.ServicerContext) -> bytes:
    return message


def _download(message: bytes, _: grpc.ServicerContext) -> Iterator[bytes]:
    for _ in range(PIECES):
        yield message


def _upload(messages: Iterator[bytes], _: grpc.ServicerContext) -> bytes:
    return str(sum(len(message) for message in messages)).encode()


def _chat(messages: Iterator[bytes], _: grpc.ServicerContext) -> Iterator[bytes]:
    yield from messages


def _fail(_: bytes, context: grpc.ServicerContext) -> bytes:
    context.abort(grpc.StatusCode.ABORTED, "no")
    raise AssertionError


def _refuse(_: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")
    raise AssertionError


_METHODS: dict[str, Callable[[], Any]] = {
    "Unary": lambda: grpc.unary_unary_rpc_method_handler(_unary),
    "Download": lambda: grpc.unary_stream_rpc_method_handler(_download),
    "Upload": lambda: grpc.stream_unary_rpc_method_handler(_upload),
    "Chat": lambda: grpc.stream_stream_rpc_method_handler(_chat),
    "Fail": lambda: grpc.unary_unary_rpc_method_handler(_fail),
    "Refuse": lambda: grpc.stream_unary_rpc_method_handler(_refuse),
}


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    def service(self, details: grpc.HandlerCallDetails) -> Any:
        method = details.method.rpartition("/")[2]
        return _METHODS[method]() if method in _METHODS else None


class RpcServer:
    """Every service has these methods, messages are bytes; `with` starts and stops it.

    Unary and Chat echo, Download sends its message `PIECES` times, Upload says how many bytes came, Fail ends
    with ABORTED, Refuse with PERMISSION_DENIED while the client may still send.
    """

    port: int

    def __enter__(self) -> Self:
        self._server = grpc.server(ThreadPoolExecutor(32), handlers=[_Handler()], options=OPTIONS)
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()


def channel(address: tuple[str, int]) -> Any:
    """A client's channel that takes large messages and shares no connection with another channel."""
    options = [*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
    return grpc.insecure_channel("{}:{}".format(*address), options=options)
