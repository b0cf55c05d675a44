"""A revision: one committed change."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Kind = Literal["profile", "upstream", "fleet", "endpoint", "order", "halt"]
Action = Literal["create", "update", "delete", "rollback", "halt", "resume"]


@dataclass(frozen=True, slots=True)
class Revision:
    """Who changed what, when, and how it was and is.

    Attributes:
        number: Global, without gaps.
        at: When it was committed, in UTC.
        actor: Who.
        action: What was done; a rollback is an update to a former content.
        kind: What was changed: an entity, the `order` of a fleet's endpoints, or a `halt`.
        key: Its name: `slow` (profile, upstream, fleet, order), `edge/pay` (endpoint), `edge` or `*` (halt).
        before: Its document before, null when it did not exist.
        after: Its document after, null when it is gone.
    """

    number: int
    at: datetime
    actor: str
    action: Action
    kind: Kind
    key: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
