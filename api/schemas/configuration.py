"""A whole configuration, and what applying it changes."""

from typing import Any, Literal

from pydantic import Field

from api.schemas.base import Schema
from api.schemas.endpoint import EndpointCreate
from api.schemas.fleet import Fleet
from api.schemas.profile import Profile
from api.schemas.upstream import Upstream


class FleetConfiguration(Fleet):
    """A fleet with its endpoints in order."""

    endpoints: list[EndpointCreate] = Field([])


class Configuration(Schema):
    """Everything, or the part of it that is to be applied."""

    profiles: list[Profile] = Field([])
    upstreams: list[Upstream] = Field([])
    fleets: list[FleetConfiguration] = Field([])


class Change(Schema):
    """One difference between what is and what is wanted."""

    action: Literal["create", "update", "delete", "rollback", "halt", "resume"]
    kind: Literal["profile", "upstream", "fleet", "endpoint", "order", "halt"]
    key: str = Field(description="The name; `edge/pay` for an endpoint.", examples=["edge/pay"])
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Plan(Schema):
    """What an apply would do, or did."""

    revision: int = Field(
        description="The revision that was compared with (plan) or is the newest now (apply)."
    )
    changes: list[Change] = Field(description="In order; empty when everything is as wanted.")
