"""gRPC's settings, and what may be set."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from xds_server.tls import ServerTls

MAX_REQUEST_BYTES: Final = 64 * 1024 * 1024
"""What a request may have at most; gRPC's own 4 MiB are less than the version maps of a large fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the server treats connections and nodes.

    Attributes:
        keepalive: Seconds of silence after which a client is pinged.
        keepalive_timeout: Seconds after which a client that does not answer a ping is taken for dead.
        handshake_timeout: Seconds that a new connection has for TLS and the beginning of HTTP/2.
        max_request_bytes: What a request may have at most.
        remember: How long a node is listed after its stream has ended.
        remember_count: How many such nodes are listed at most.
        tls: What to listen with; None is plain text.
    """

    keepalive: float = 30.0
    keepalive_timeout: float = 10.0
    handshake_timeout: float = 10.0
    max_request_bytes: int = MAX_REQUEST_BYTES
    remember: timedelta = timedelta(minutes=10)
    remember_count: int = 10_000
    tls: ServerTls | None = None

    def channel_arguments(self) -> list[tuple[str, int]]:
        """Return gRPC's channel arguments."""
        return [
            ("grpc.max_receive_message_length", self.max_request_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.server_handshake_timeout_ms", int(self.handshake_timeout * 1000)),
            ("grpc.keepalive_time_ms", int(self.keepalive * 1000)),
            ("grpc.keepalive_timeout_ms", int(self.keepalive_timeout * 1000)),
            # What gRPC waits for the answer to a ping, whatever the keepalive says: else a minute.
            ("grpc.http2.ping_timeout_ms", int(self.keepalive_timeout * 1000)),
            ("grpc.keepalive_permit_without_calls", 1),
            # gRPC pings only while data flows, and ends connections whose client pings more often than
            # every five minutes: an idle stream is the normal state here.
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.http2.max_ping_strikes", 0),
            # A second server on the same port is an error, not a second half of the clients.
            ("grpc.so_reuseport", 0),
        ]
