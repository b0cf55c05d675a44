"""Lists in pages: `limit` items and a cursor for the rest (the service cuts those of the configuration)."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from api.problems import Invalid
from brownout.service import DEFAULT_LIMIT

T = TypeVar("T")


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
        raise Invalid([("cursor", "expected the `next` of an earlier page of this list")]) from error


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is asked for."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None

    def of_sorted(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """The page of a list that is sorted by `key`; a key that is gone by now still continues there."""
        start = 0 if self.cursor is None else bisect_right(items, decode_cursor(self.cursor), key=key)
        page = items[start : start + self.limit]
        more = start + self.limit < len(items)
        return page, encode_cursor(key(page[-1])) if more else None
