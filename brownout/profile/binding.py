"""How a profile is bound to an endpoint: which share takes part, until when, and what is shown."""

from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from brownout.profile.errors import quoted
from brownout.profile.headers import parse_value
from brownout.profile.model import Model
from brownout.profile.reading import Fields
from brownout.profile.scalars import boolean, converted, number, plain_number
from brownout.profile.timestamps import format_timestamp, parse_timestamp

BINDING_FIELDS = ("percent", "expires_at", "label", "headers", "endpoint")
"""The fields of a fault; on the wire they stand beside the profile's."""

_LONGEST_NAME = 256


class Binding(Model):
    """A fault's own part.

    `percent` of the matching requests take part until `expires_at` (aware, UTC). `label` comes back as
    `x-fault-profile`; `headers` tells whether `x-fault-*` is added at all; `endpoint` says whose state it is.
    """

    percent: Annotated[float, Field(ge=0, le=100)] = 100.0
    expires_at: AwareDatetime | None = None
    label: str | None = None
    headers: bool = True
    endpoint: str | None = None


_percent = number("a number from 0 to 100", lambda x: 0 <= x <= 100)
_expires_at = converted(parse_timestamp)


def read_binding(fields: Fields) -> Binding:
    """Read the binding among `fields`."""
    return Binding(
        percent=fields.defaulted("percent", _percent, 100.0),
        expires_at=fields.optional("expires_at", _expires_at),
        label=fields.optional("label", _name),
        headers=fields.defaulted("headers", boolean, True),
        endpoint=fields.optional("endpoint", _name),
    )


def _parse_name(text: str) -> str:
    if not 1 <= len(text) <= _LONGEST_NAME:
        raise ValueError(f"expected 1 to {_LONGEST_NAME} characters, found {quoted(text)}")
    return parse_value(text)


_name = converted(_parse_name)


def dump_binding(binding: Binding) -> dict[str, Any]:
    """Return the fields that `read_binding` reads as `binding`, defaults left out."""
    plain: dict[str, Any] = {}
    if binding.percent != 100.0:
        plain["percent"] = plain_number(binding.percent)
    if binding.expires_at is not None:
        plain["expires_at"] = format_timestamp(binding.expires_at)
    if binding.label is not None:
        plain["label"] = binding.label
    if not binding.headers:
        plain["headers"] = False
    if binding.endpoint is not None:
        plain["endpoint"] = binding.endpoint
    return plain
