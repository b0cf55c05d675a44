"""grpc.aio's side of a stream: bytes as they are, and who the client is."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import grpc

from brownout.domain import CertificateNames
from xds_server.tls import peer_names


class Context(Protocol):
    """What is used of `grpc.aio.ServicerContext`."""

    async def read(self) -> Any:
        """Return a request, or `grpc.aio.EOF`."""

    async def write(self, message: bytes) -> None:
        """Send a response."""

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return what is known of the client."""

    async def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        """End the stream with a status; raises."""


class GrpcTransport:
    """A stream of grpc.aio that carries bytes as they are."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def read(self) -> bytes | None:
        """Return the next request; None when the client has ended."""
        data = await self._context.read()
        return None if data is grpc.aio.EOF else data

    async def write(self, data: bytes) -> None:
        """Send a response."""
        await self._context.write(data)

    def peer_names(self) -> CertificateNames | None:
        """Return the names in the client's certificate; None when it showed none."""
        return peer_names(self._context.auth_context())
