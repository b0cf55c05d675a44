"""Halts, health, events."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Schema


class Halted(Schema):
    """The outcome of a halt or resume."""

    key: str = Field(description="The fleet, or `*` for all.", examples=["edge"])
    halted: bool
    revision: int | None = Field(
        description="Under which it was recorded; null when it was not, or nothing changed."
    )
    problem: str | None = Field(
        description="What could not be recorded, and what a restarted server then serves."
    )


class Health(Schema):
    """The process answers."""

    status: Literal["ok"]


class Readiness(Schema):
    """The server serves."""

    status: Literal["ready"]
    checks: dict[str, bool]
