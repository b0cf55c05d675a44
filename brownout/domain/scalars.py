"""The values that entities share, in Python and as a document writes them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from brownout.domain.problems import nested
from brownout.profile import FieldError, ValidationFailed, format_duration, parse_duration
from brownout.profile.errors import found, quoted
from brownout.profile.timestamps import format_timestamp, parse_timestamp

T = TypeVar("T")

LONGEST = 9_223_372_035_000_000_000
"""Nanoseconds of the longest duration that Envoy takes; a longer one fails its whole update."""

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def _label(value: str) -> str:
    if not _LABEL.fullmatch(value):
        expected = "expected a DNS label: 1 to 63 of a-z, 0-9 and '-', neither first nor last a '-'"
        raise ValueError(f"{expected}, found {quoted(value)}")
    return value


def _writable(value: str) -> str:
    if "\0" in value:  # it ends a string in C
        raise ValueError("expected text without U+0000")
    return value


def _nanoseconds(value: object) -> int:
    if isinstance(value, str):
        duration = parse_duration(value)
        if duration > LONGEST:
            longest = format_duration(LONGEST)
            raise ValueError(f"expected a duration of at most {longest}, found {quoted(value)}")
        return duration
    raise ValueError(f'expected a duration as a string, like "250ms" or "15s", found {found(value)}')


def _above_zero(value: int) -> int:
    if value <= 0:
        raise ValueError('expected a duration above zero, like "1s"')
    return value


def _instant(value: object) -> datetime:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, str):
        return parse_timestamp(value)
    raise ValueError(f'expected a time as a string, like "2030-01-31T18:00:00Z", found {found(value)}')


def distinct(what: str, key: Callable[[Any], object] = lambda item: item) -> AfterValidator:
    """Return a validator for a tuple in which no two items may have the same `key`."""

    def check(items: tuple[T, ...]) -> tuple[T, ...]:
        seen: dict[object, int] = {}
        repeated = [
            FieldError(f"[{index}]", f"repeats the {what} of item {first}")
            for index, item in enumerate(items)
            if (first := seen.setdefault(key(item), index)) != index
        ]
        if repeated:
            raise nested(ValidationFailed(repeated))
        return items

    return AfterValidator(check)


def _some(items: tuple[T, ...]) -> tuple[T, ...]:
    # Field(min_length=…) would count the sound items only.
    if not items:
        raise ValueError("expected at least one in the list")
    return items


NotEmpty = AfterValidator(_some)
"""Marks a tuple that has at least one item."""

Name = Annotated[str, AfterValidator(_label)]
"""A DNS label, as every name is."""

Text = Annotated[str, Field(min_length=1), AfterValidator(_writable)]
"""Text that is not empty."""

Prose = Annotated[str, Field(max_length=2000), AfterValidator(_writable)]
"""Text for people."""

Duration = Annotated[
    int, BeforeValidator(_nanoseconds), PlainSerializer(format_duration, return_type=str, when_used="json")
]
"""Nanoseconds in Python, Go's notation in a document."""

PositiveDuration = Annotated[Duration, AfterValidator(_above_zero)]
"""One above zero."""

Instant = Annotated[
    datetime, BeforeValidator(_instant), PlainSerializer(format_timestamp, return_type=str, when_used="json")
]
"""An aware time in UTC; RFC 3339 in a document."""

Port = Annotated[int, Field(ge=1, le=65535)]

Items = Field(strict=False)
"""Marks a tuple that a document writes as a list."""
