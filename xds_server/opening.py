"""A stream's first request, which says who it is."""

import grpc

from xds_server.connection import StreamEnd
from xds_server.node import Node
from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.wire import WireError


def parse(data: bytes, *, delta: bool) -> SotwRequest | DeltaRequest:
    """Return the request.

    Raises:
        StreamEnd: It is none.
    """
    try:
        return DeltaRequest.parse(data) if delta else SotwRequest.parse(data)
    except WireError as error:
        raise StreamEnd(grpc.StatusCode.INVALID_ARGUMENT, f"no discovery request: {error}") from None


def identify(request: SotwRequest | DeltaRequest) -> Node:
    """Return the node of a stream's first request: the only one that has to have it.

    Raises:
        StreamEnd: It has none, or not all of it.
    """
    try:
        node = Node.parse(request.node or b"")
    except Exception as error:  # noqa: BLE001 (betterproto2 raises what it likes)
        raise StreamEnd(grpc.StatusCode.INVALID_ARGUMENT, f"the node cannot be read: {error}") from None
    if not node.id:
        raise StreamEnd(grpc.StatusCode.INVALID_ARGUMENT, "the first request must have node.id")
    if not node.fleet:
        raise StreamEnd(
            grpc.StatusCode.INVALID_ARGUMENT,
            "the first request must have node.cluster: the name of the fleet",
        )
    return node
