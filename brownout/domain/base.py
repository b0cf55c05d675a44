"""The base of all entities, the scalar types they share, and how a document becomes one."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)

from brownout.domain.problems import field_errors
from brownout.profile import FieldError, ValidationFailed, format_duration, parse_document, parse_duration

Raw = Mapping[str, Any] | bytes | str
"""An entity as a caller brings it: a parsed mapping, or one YAML or JSON document."""

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

T = TypeVar("T")


class Entity(BaseModel):
    """Immutable and strict: no unknown field, no coercion.

    `document()` is what REST shows and the store keeps, `load` its inverse.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", validate_default=False)

    @classmethod
    def load(cls, raw: Raw, *, path: str = "") -> Self:
        """Build it from a document.

        Raises:
            ValidationFailed: Every error at once, each path prefixed by `path`.
        """
        document = as_mapping(raw, path=path)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise ValidationFailed(field_errors(error, cls, path=path)) from None

    def document(self) -> dict[str, Any]:
        """Return plain JSON-able data, every field included, in the order of the declaration."""
        return self.model_dump(mode="json")


def as_mapping(raw: Raw, *, path: str = "") -> Mapping[str, Any]:
    """Parse `raw` where needed and make sure that it is a mapping with string keys."""
    value = parse_document(raw) if isinstance(raw, bytes | str) else raw
    if not isinstance(value, Mapping):
        raise ValidationFailed([FieldError(path, "expected a mapping of fields to values")])
    return value


def _label(value: str) -> str:
    if not _LABEL.fullmatch(value):
        raise ValueError(
            "expected a DNS label: 1 to 63 of a-z, 0-9 and '-', neither first nor last a '-'",
        )
    return value


def _nanoseconds(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError('expected a duration as a string, like "250ms" or "15s"')  # noqa: TRY004 (pydantic wants it)
    return parse_duration(value)


def _instant(value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError('expected a time with its zone (RFC 3339), like "2030-01-31T18:00:00Z"')
    return value.astimezone(UTC)


def rfc3339(value: datetime) -> str:
    """Return `value` in UTC as RFC 3339 writes it, with microseconds only where there are any."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def distinct(what: str, key: Callable[[Any], object] = lambda item: item) -> AfterValidator:
    """Return a validator for a tuple in which no two items may have the same `key`."""

    def check(items: tuple[T, ...]) -> tuple[T, ...]:
        seen: dict[object, int] = {}
        for index, item in enumerate(items):
            first = seen.setdefault(key(item), index)
            if first != index:
                raise ValueError(f"item {index} repeats the {what} of item {first}")
        return items

    return AfterValidator(check)


Name = Annotated[str, AfterValidator(_label)]
"""A DNS label, as every name is."""

Duration = Annotated[
    int, BeforeValidator(_nanoseconds), PlainSerializer(format_duration, return_type=str, when_used="json")
]
"""Nanoseconds in Python, Go's notation in a document."""

Instant = Annotated[
    datetime, BeforeValidator(_instant), PlainSerializer(rfc3339, return_type=str, when_used="json")
]
"""An aware time in UTC; RFC 3339 in a document."""

Port = Annotated[int, Field(ge=1, le=65535)]

Items = Field(strict=False)
"""Marks a tuple that a document writes as a list."""
