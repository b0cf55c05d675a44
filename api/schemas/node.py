"""Nodes: the Envoys, and how far they are."""

from typing import Any, Literal

from pydantic import Field

from api.schemas.base import Cursor, Instant, Schema


class Acknowledged(Schema):
    """What a node last acknowledged of one resource type."""

    version: str
    revision: int = Field(description="The newest revision whose content for this node has that version.")
    at: Instant


class Rejection(Schema):
    """A rejection (NACK) that is outstanding."""

    text: str = Field(description="Envoy's own text.")
    finding: str | None = Field(description="What Brownout's check of what it had sent finds.")
    at: Instant


class Node(Schema):
    """One Envoy, connected now or a while ago."""

    id: str
    fleet: str
    connected: bool
    since: Instant = Field(description="When it connected, was lost, or was first refused.")
    version: str | None = Field(description="Envoy's version.", examples=["1.40.0"])
    locality: dict[str, str]
    metadata: dict[str, Any]
    schema_version: int | None = Field(description="What its module understands of the profile language.")
    acknowledged: dict[Literal["cds", "eds", "lds", "rds", "ecds"], Acknowledged]
    rejected: dict[Literal["cds", "eds", "lds", "rds", "ecds"], Rejection]
    refused: str | None = Field(
        description="Why it is kept out of its fleet, whose `certificates` its own does not match."
    )


class NodeList(Schema):
    """A page of nodes, by fleet and id."""

    items: list[Node]
    next: Cursor = None


class FleetProgress(Schema):
    """How far a fleet's nodes are."""

    fleet: str
    halted: bool = Field(description="Whether it injects nothing, by its own halt or by the halt of all.")
    revision: int = Field(description="The revision that the nodes should have.")
    nodes: int = Field(description="How many are connected.")
    current: int = Field(description="How many of them acknowledged that revision for every resource type.")
    rejecting: int = Field(description="How many have an outstanding rejection.")
    converged: bool = Field(description="Whether all are current and none rejects.")


class FleetNodes(FleetProgress):
    """A fleet's nodes, by id, and how far they are."""

    items: list[Node]
    next: Cursor = None
