"""What the service answers with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from brownout.domain import Action, Kind, Stored
from brownout.domain.stored import E_co

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next` is the cursor of the following one, null on the last."""

    items: tuple[T, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Written(Generic[E_co]):
    """The outcome of a PUT.

    Attributes:
        stored: What is there now.
        created: Whether it was not there before.
        changed: False when the document was the same already: then nothing was committed.
    """

    stored: Stored[E_co]
    created: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between the configuration that is and the one that is wanted."""

    action: Action
    kind: Kind
    key: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an apply would do, or did.

    Attributes:
        changes: In the order in which they are made; empty when everything is as wanted.
        revision: The catalog's revision that it was compared with (plan), or that it led to (apply).
    """

    changes: tuple[Change, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class Halted:
    """The outcome of a halt or resume, which works with or without the store.

    Attributes:
        key: The fleet, or `*` for all.
        halted: The state now.
        revision: Under which it was recorded; null when it could not be, or when nothing changed.
        problem: What could not be recorded, and what a restarted server then serves; null when all is well.
    """

    key: str
    halted: bool
    revision: int | None
    problem: str | None
