"""What numbers and texts a document may hold, whatever it is written in."""

import math
import re

from brownout.profile.errors import quoted

_LONGEST_INTEGER = 22  # the digits of 64 bits to the base of 8
# U+0000 ends a string in C and PostgreSQL refuses it; half a surrogate pair cannot be written as UTF-8.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def parse_integer(digits: str, base: int = 10) -> int:
    """Return the integer written as `digits`, with or without a sign.

    Raises:
        ValueError: It does not fit in 64 bits.
    """
    if len(digits.lstrip("+-0")) <= _LONGEST_INTEGER:
        value = int(digits, base)
        if -(2**63) <= value < 2**64:
            return value
    raise ValueError(f"expected an integer of at most 64 bits, found {quoted(digits)}")


def parse_number(digits: str) -> float:
    """Return the number written as `digits`.

    Raises:
        ValueError: It is not finite, or beyond what a double can hold.
    """
    value = float(digits)
    if math.isfinite(value):
        return value
    raise ValueError(f"expected a finite number, found {quoted(digits)}")


def check_text(text: str) -> str:
    """Return `text`.

    Raises:
        ValueError: It has U+0000 or half of a surrogate pair.
    """
    unwritable = _UNWRITABLE.search(text)
    if unwritable:
        raise ValueError(f"expected text without U+{ord(unwritable[0]):04X}, found {quoted(text)}")
    return text
