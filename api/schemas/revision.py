"""Revisions: the audit trail."""

from typing import Any, Literal

from pydantic import Field

from api.schemas.base import Cursor, Instant, Schema


class Revision(Schema):
    """One committed change."""

    number: int = Field(ge=1, description="Global, without gaps.")
    at: Instant
    actor: str
    action: Literal["create", "update", "delete", "rollback", "halt", "resume"]
    kind: Literal["profile", "upstream", "fleet", "endpoint", "order", "halt"]
    key: str = Field(description="The name; `edge/pay` for an endpoint, `*` for a halt of all fleets.")
    before: dict[str, Any] | None = Field(description="The document before; null when there was none.")
    after: dict[str, Any] | None = Field(description="The document after; null when it is gone.")


class RevisionList(Schema):
    """A page of revisions, the newest first."""

    items: list[Revision]
    next: Cursor = None
