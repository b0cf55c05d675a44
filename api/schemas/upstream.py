"""Upstreams: real backends."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Cursor, Duration, Name, Schema


class Host(Schema):
    """One address of an upstream."""

    address: str = Field(
        description="An IP address (IPv6 without brackets) or a host name.", examples=["10.0.0.7"]
    )
    port: int = Field(ge=1, le=65535, examples=[8080])


class UpstreamTls(Schema):
    """How Envoys speak TLS to an upstream. Files are on the Envoy's host."""

    sni: str | None = None
    ca: str | None = Field(None, description="PEM text or an absolute path; null verifies nothing.")
    subject_alt_names: list[str] = Field([])
    certificate: str | None = Field(None, description="PEM text or an absolute path, with `private_key`.")
    private_key: str | None = Field(None, description="An absolute path: keys never travel through Brownout.")


class CircuitBreakers(Schema):
    """Envoy's thresholds; high by default, so that injected failures can be retried."""

    max_connections: int = Field(1_000_000, ge=0, le=2**32 - 1)
    max_pending_requests: int = Field(1_000_000, ge=0, le=2**32 - 1)
    max_requests: int = Field(1_000_000, ge=0, le=2**32 - 1)
    max_retries: int = Field(1_000_000, ge=0, le=2**32 - 1)


class Upstream(Schema):
    """A real backend, an Envoy cluster. Its hosts are all IP addresses or all host names."""

    name: Name
    hosts: list[Host] = Field(min_length=1)
    protocol: Literal["http1", "http2"] = "http1"
    tls: UpstreamTls | None = None
    connect_timeout: Duration = "1s"
    circuit_breakers: CircuitBreakers = CircuitBreakers()


class UpstreamUpdate(Upstream):
    """An upstream as `PUT` takes it; the name may be left out, the path has it."""

    name: Name | None = None  # type: ignore[assignment]  # may be left out here


class UpstreamList(Schema):
    """A page of upstreams, by name."""

    items: list[Upstream]
    next: Cursor = None
