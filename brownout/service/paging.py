"""Pages of a list."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from brownout.domain import FieldError, ValidationFailed
from brownout.service.results import Page

T = TypeVar("T")

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
"""Items of a page."""


def checked_limit(limit: int) -> int:
    """Return `limit` if a page can have so many items."""
    if not 1 <= limit <= MAX_LIMIT:
        raise ValidationFailed([FieldError("limit", f"expected 1 to {MAX_LIMIT}, found {limit}")])
    return limit


def page(
    items: Sequence[T], name: Callable[[T], str], *, limit: int, cursor: str | None, by_name: bool
) -> Page[T]:
    """Return the items after the one called `cursor`.

    When that one is gone, a list in the order of its names goes on behind its place; any other cannot, so its
    reader is told to begin again.
    """
    checked_limit(limit)
    start = 0
    if cursor is not None:
        names = [name(item) for item in items]
        if cursor in names:
            start = names.index(cursor) + 1
        elif by_name:
            start = sum(each < cursor for each in names)
        else:
            message = f"{cursor!r} is no longer in the list: begin again without a cursor"
            raise ValidationFailed([FieldError("cursor", message)])
    shown = tuple(items[start : start + limit])
    return Page(shown, name(shown[-1]) if shown and start + limit < len(items) else None)
