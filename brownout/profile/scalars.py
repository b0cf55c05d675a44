"""Reading scalars: strings, integers, numbers, truth values, choices, durations."""

import re
import sys
from collections.abc import Callable
from typing import Literal, TypeVar

from brownout.profile.durations import parse_duration
from brownout.profile.literals import check_text
from brownout.profile.reading import Value

T = TypeVar("T")
Text = TypeVar("Text", bound=str)

_LONGEST_NUMBER = 64


def string(value: Value) -> str | None:
    """Read a string without U+0000 and without halves of surrogate pairs."""
    raw = value.raw
    if not isinstance(raw, str):
        value.expected("a string")
        return None
    try:
        return check_text(raw)
    except ValueError as error:
        value.fail(str(error))
        return None


def converted(convert: Callable[[str], T]) -> Callable[[Value], T | None]:
    """Return what reads a string and converts it; the message of a ValueError is the finding."""

    def read(value: Value) -> T | None:
        text = string(value)
        if text is None:
            return None
        try:
            return convert(text)
        except ValueError as error:
            value.fail(str(error))
            return None

    return read


def duration(value: Value) -> int | None:
    """Read a duration, in nanoseconds; a number is refused, since it has no unit."""
    if not isinstance(value.raw, str):
        value.expected('a duration, a string like "52.3ms" or "1.5s"')
        return None
    return _duration(value)


_duration = converted(parse_duration)


def boolean(value: Value) -> bool | None:
    """Read `true` or `false`."""
    if isinstance(value.raw, bool):
        return value.raw
    value.expected("true or false")
    return None


def integer(least: int, most: int, bounds: str = "") -> Callable[[Value], int | None]:
    """Return what reads an integer; `bounds` says in a message what `least` and `most` are."""
    expected = f"an integer {bounds or f'from {least} to {most}'}"

    def read(value: Value) -> int | None:
        raw = value.raw
        if isinstance(raw, str) and value.findings.from_envoy:
            raw = _unwrapped(raw)
        if isinstance(raw, int) and not isinstance(raw, bool) and least <= raw <= most:
            return int(raw)
        value.expected(expected)
        return None

    return read


def number(expected: str, accept: Callable[[float], bool]) -> Callable[[Value], float | None]:
    """Return what reads a finite number that `accept` accepts; `expected` is for the message."""

    def read(value: Value) -> float | None:
        raw = value.raw
        if isinstance(raw, str) and value.findings.from_envoy:
            raw = _unwrapped(raw)
        if isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) <= sys.float_info.max:
            result = float(raw) + 0.0  # no negative zero
            if accept(result):
                return result
        value.expected(expected)
        return None

    return read


# What Envoy's YAML reader passes on as a string when it stands in a Struct; `"200"` was a string before.
_WITH_FRACTION = re.compile(r"(?=.*[.eE])[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BEYOND_32_BITS = re.compile(r"-?[1-9][0-9]{9,18}")


def _unwrapped(text: str) -> int | float | None:
    if len(text) <= _LONGEST_NUMBER:
        if _WITH_FRACTION.fullmatch(text):
            return float(text)
        if _BEYOND_32_BITS.fullmatch(text) and not -(2**31) <= int(text) < 2**31:
            return int(text)
    return None


def plain_number(value: float) -> int | float:
    """Return a number as people write it: 20, not 20.0."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def choice(*choices: Text) -> Callable[[Value], Text | None]:
    """Return what reads one of a few words."""
    words = {str(word): word for word in choices}
    expected = " or ".join(words)

    def read(value: Value) -> Text | None:
        raw = value.raw
        word = words.get(raw) if isinstance(raw, str) else None
        if word is None:
            value.expected(expected)
        return word

    return read


def true(value: Value) -> Literal[True] | None:
    """Read `true`, the only value of some fields."""
    if value.raw is True:
        return True
    value.expected("true")
    return None
