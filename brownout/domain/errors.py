"""What a use of the model can be refused for; invalid content is `brownout.profile.ValidationFailed`."""

# ruff: noqa: N818 (each name says what happened, as the REST status it becomes does)

from collections.abc import Iterable
from difflib import get_close_matches

from brownout.profile import FieldError, ValidationFailed

__all__ = [
    "BrownoutError",
    "Conflict",
    "FieldError",
    "NotFound",
    "StaleRevision",
    "ValidationFailed",
    "nearby",
]


class BrownoutError(Exception):
    """Base of the errors below; `str()` is one sentence for a user."""


class NotFound(BrownoutError):
    """A named thing does not exist (REST: 404); the message suggests some of `known`, if given."""

    def __init__(self, kind: str, name: str, known: Iterable[str] | None = None) -> None:
        self.kind = kind
        self.name = name
        hint = "" if known is None else nearby(name, known)
        super().__init__(f"there is no {kind} {name!r}{hint}")


class Conflict(BrownoutError):
    """The change contradicts what is there (REST: 409).

    Attributes:
        used_by: What stands in the way, as a user would name it (`endpoint edge/pay`).
    """

    def __init__(self, message: str, used_by: Iterable[str] = ()) -> None:
        self.used_by = tuple(used_by)
        super().__init__(message)


class StaleRevision(BrownoutError):
    """The writer saw another revision than the present one (REST: 412)."""

    def __init__(self, what: str, expected: int, present: int) -> None:
        self.expected = expected
        self.present = present
        state = f"is at revision {present}" if present else "does not exist"
        super().__init__(f"{what} {state}, not at revision {expected}: read again and repeat the change")


def nearby(name: str, known: Iterable[str]) -> str:
    """Return ` (…)` with the names that the user may have meant, else with what exists."""
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f" (did you mean {' or '.join(repr(each) for each in close)}?)"
    if not names:
        return " (there is none yet)"
    shown = ", ".join(repr(each) for each in names[:5])
    return f" (there is {shown}{', …' if len(names) > 5 else ''})"
