"""Endpoints and their faults."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Cursor, Duration, Instant, Name, Schema


class HeaderMatch(Schema):
    """A condition on one request header: `exact_match`, or `present_match: true`."""

    name: str
    exact_match: str | None = None
    present_match: Literal[True] | None = None


class EndpointMatch(Schema):
    """Which requests; what is left out matches all."""

    hosts: list[str] = Field(["*"], min_length=1, examples=[["*.example.com"]])
    prefix: str | None = Field(None, description="Path prefix; excludes `exact`.", examples=["/pay"])
    exact: str | None = Field(None, description="The whole path without its query.")
    methods: list[str] = Field([], examples=[["GET", "POST"]])
    headers: list[HeaderMatch] = Field([])


class Retry(Schema):
    """Envoy's retries."""

    retry_on: str = Field(description="Envoy's conditions, separated by commas.", examples=["5xx,reset"])
    attempts: int = Field(1, ge=1, le=1000)
    per_try_timeout: Duration | None = None


class Locality(Schema):
    """A node's place; null matches any."""

    region: str | None = None
    zone: str | None = None
    sub_zone: str | None = None


class NodeSelector(Schema):
    """Which nodes inject: those for which everything given here holds."""

    ids: list[str] = Field([])
    locality: Locality | None = None
    metadata: dict[str, str | bool | int | float] = Field({})


class Fault(Schema):
    """The binding of a profile to an endpoint."""

    profile: Name
    percent: float = Field(100, ge=0, le=100, description="Share of the matching requests that take part.")
    expires_at: Instant | None = Field(None, description="When the filter itself stops injecting.")
    nodes: NodeSelector | None = Field(None, description="null: every node of the fleet.")
    enabled: bool = True
    headers: bool = Field(True, description="Whether responses carry the x-fault-* headers.")


class FaultUpdate(Fault):
    """A fault as it is set; `for` counts from now and becomes `expires_at`."""

    for_: Duration | None = Field(None, alias="for", examples=["10m"])


class Endpoint(Schema):
    """One entry of a fleet's ordered list; the first that matches wins."""

    name: Name
    match: EndpointMatch = EndpointMatch()
    upstream: Name | None = Field(None, description="Required, except in a fleet of mode `filter`.")
    timeout: Duration | None = Field(None, description="Route timeout, 15s when left out; 0s is none.")
    retry: Retry | None = None
    fault: Fault | None = None


class EndpointUpdate(Endpoint):
    """An endpoint as `PUT` takes it; the name may be left out, the path has it."""

    name: Name | None = None  # type: ignore[assignment]  # may be left out here
    fault: FaultUpdate | None = None


class EndpointCreate(EndpointUpdate):
    """An endpoint as `POST` takes it; it becomes the last of the list."""

    name: Name


class EndpointList(Schema):
    """A page of endpoints, in matching order."""

    items: list[Endpoint]
    next: Cursor = None


class EndpointsOrder(Schema):
    """Every endpoint of the fleet, once, in the order in which they are tried."""

    endpoints: list[Name] = Field(examples=[["pay", "search", "rest"]])
