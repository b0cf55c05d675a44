"""A fault: the binding of a profile to an endpoint."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from brownout.domain.base import Entity
from brownout.domain.problems import at, join
from brownout.domain.scalars import Instant, Items, Name, Text, distinct
from brownout.profile import FieldError, ValidationFailed, parse_duration
from brownout.profile.errors import found
from brownout.profile.scalars import plain_number
from brownout.profile.timestamps import LAST_YEAR, format_timestamp


def _scalar(value: object) -> object:
    if isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise ValueError(f"expected a string, a number or true or false, found {found(value)}")


Scalar = Annotated[str | bool | int | float, BeforeValidator(_scalar)]


class Locality(Entity):
    """A place, as Envoy's `node.locality` says it; null matches any."""

    region: Text | None = None
    zone: Text | None = None
    sub_zone: Text | None = None


class NodeSelector(Entity):
    """Which nodes of the fleet inject: those for which everything that is given here holds."""

    ids: Annotated[tuple[Text, ...], Items, distinct("id")] = ()
    locality: Locality | None = None
    metadata: dict[Text, Scalar] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _selects(self) -> Self:
        if not self.ids and self.locality in (None, Locality()) and not self.metadata:
            raise at("", "expected ids, locality or metadata; null means every node")
        return self

    def matches(self, node_id: str, locality: Mapping[str, str], metadata: Mapping[str, Any]) -> bool:
        """Whether a node is selected, given its `node.locality` and `node.metadata` as plain mappings."""
        if self.ids and node_id not in self.ids:
            return False
        wanted = {} if self.locality is None else self.locality.model_dump(exclude_none=True)
        if any(locality.get(key) != value for key, value in wanted.items()):
            return False
        return all(key in metadata and _equal(metadata[key], value) for key, value in self.metadata.items())


def _equal(one: object, other: object) -> bool:
    # True == 1 in Python, not in a node's metadata; 1 == 1.0 in both (protobuf's Struct has only doubles).
    return isinstance(one, bool) == isinstance(other, bool) and one == other


Percent = Annotated[
    float,
    Field(ge=0, le=100, allow_inf_nan=False),
    PlainSerializer(plain_number, return_type=int | float, when_used="json"),
]


class Fault(Entity):
    """What an endpoint injects.

    Attributes:
        profile: Name of the profile.
        percent: Share of the matching requests that take part, 0 to 100.
        expires_at: When the filter itself stops; null never. A time in the past is kept and injects nothing.
        nodes: Which nodes inject; null is all.
        enabled: False keeps the binding and injects nothing.
        headers: Whether responses carry the `x-fault-*` headers.
    """

    profile: Name
    percent: Percent = 100.0
    expires_at: Instant | None = None
    nodes: NodeSelector | None = None
    enabled: bool = True
    headers: bool = True


def with_deadline(raw: Mapping[str, Any], now: datetime, *, path: str = "") -> dict[str, Any]:
    """Return a fault's document in which `for: 10m` has become `expires_at`, counted from `now`.

    Raises:
        ValidationFailed: `for` is no duration above zero, or stands beside `expires_at`.
    """
    document = dict(raw)
    if "for" not in document:
        return document
    here, text = join(path, "for"), document.pop("for")
    if document.get("expires_at") is not None:
        raise ValidationFailed([FieldError(here, "give either for or expires_at, not both")])
    try:
        deadline = now + timedelta(microseconds=_positive(text) // 1000)
    except ValueError as error:
        raise ValidationFailed([FieldError(here, str(error))]) from None
    if deadline.year > LAST_YEAR:
        raise ValidationFailed([FieldError(here, f"is too far in the future: expected at most {LAST_YEAR}")])
    return {**document, "expires_at": format_timestamp(deadline)}


def _positive(text: object) -> int:
    nanoseconds = parse_duration(text) if isinstance(text, str) else 0
    if nanoseconds <= 0:
        raise ValueError(f'expected a duration above zero, like "10m", found {found(text)}')
    return nanoseconds
