"""Lists in pages: `limit` items and a cursor for the rest."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from api.problems import Invalid

T = TypeVar("T")

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


def encode_cursor(position: str) -> str:
    """A cursor that continues after `position`; opaque to clients, safe in a URL."""
    return base64.urlsafe_b64encode(position.encode()).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> str:
    """The position in a cursor.

    Raises:
        Invalid: it is not a cursor of ours.
    """
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise bad_cursor() from error


def bad_cursor() -> Invalid:
    """The error for a cursor that was not handed out by this list."""
    return Invalid([("cursor", "expected the `next` of an earlier page of this list")])


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is asked for."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None

    def of_sorted(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """The page of a list that is sorted by `key`; a key that is gone by now still continues there."""
        start = 0 if self.cursor is None else bisect_right(items, decode_cursor(self.cursor), key=key)
        page, end = self._cut(items, start)
        return page, None if end is None else encode_cursor(key(page[-1]))

    def of_ordered(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """The page of a list whose order is its own: continues after the named item.

        When that item is gone, it continues at the place where it was.
        """
        start = 0 if self.cursor is None else self._resume(items, key, decode_cursor(self.cursor))
        page, end = self._cut(items, start)
        return page, None if end is None else encode_cursor(f"{end - 1}:{key(page[-1])}")

    @staticmethod
    def _resume(items: Sequence[T], key: Callable[[T], str], position: str) -> int:
        index, separator, name = position.partition(":")
        if not (separator and index.isdecimal() and len(index) < 10):
            raise bad_cursor()
        return next((at + 1 for at, item in enumerate(items) if key(item) == name), int(index))

    def _cut(self, items: Sequence[T], start: int) -> tuple[Sequence[T], int | None]:
        """The items from `start`, and where the rest begins (`None`: there is none)."""
        end = start + self.limit
        return items[start:end], end if end < len(items) else None
