"""Damage: stored rows that cannot be delivered."""

from typing import Any, Literal

from pydantic import Field

from api.problems import ProblemItem
from api.schemas.base import Cursor, Schema


class Damage(Schema):
    """A row that is left out; an endpoint that lacks only its fault's profile routes without the fault."""

    kind: Literal["profile", "upstream", "fleet", "endpoint"]
    key: str = Field(description="The name; `edge/pay` for an endpoint.", examples=["edge/pay"])
    errors: list[ProblemItem] = Field(description="What is wrong with it.")
    document: dict[str, Any] | None = Field(description="What is stored; null when it is no mapping at all.")


class DamageList(Schema):
    """A page of damaged rows, by kind and key."""

    items: list[Damage]
    next: Cursor = None
