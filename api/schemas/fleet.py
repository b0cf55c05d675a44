"""Fleets: the Envoys that share a configuration."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Cursor, Name, Schema


class ListenerTls(Schema):
    """How a listener speaks TLS; with `client_ca` clients must show a certificate."""

    certificate: str = Field(description="PEM text or an absolute path on the Envoy's host.")
    private_key: str = Field(description="An absolute path on the Envoy's host.")
    client_ca: str | None = None


class Listener(Schema):
    """Where the Envoys of a `gateway` fleet accept requests."""

    name: Name
    address: str = Field(description="An IP address.", examples=["0.0.0.0"])  # noqa: S104 (an example)
    port: int = Field(ge=1, le=65535, examples=[10000])
    tls: ListenerTls | None = None


class Fleet(Schema):
    """The Envoys whose `node.cluster` is its name."""

    name: Name
    mode: Literal["gateway", "routes", "filter"] = Field(
        "gateway", description="Never changes after creation."
    )
    listeners: list[Listener] = Field([], description="At least one in mode `gateway`, none in the others.")
    certificates: list[str] = Field(
        [],
        description="When given, an Envoy must show a certificate with one of these DNS names or URIs; "
        "`*.` in front stands for one label, `/*` at the end of a URI for everything below.",
        examples=[["spiffe://example.com/edge/*", "edge.example.com"]],
    )


class FleetUpdate(Fleet):
    """A fleet as `PUT` takes it; the name may be left out, the path has it."""

    name: Name | None = None  # type: ignore[assignment]  # may be left out here


class FleetList(Schema):
    """A page of fleets, by name."""

    items: list[Fleet]
    next: Cursor = None
