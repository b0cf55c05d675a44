"""Which requests an entry of `endpoints` is for."""

from typing import Any, Self

from pydantic import field_validator, model_validator

from brownout.profile.errors import quoted
from brownout.profile.headers import parse_request_name, refuse_controls
from brownout.profile.model import Model
from brownout.profile.reading import Fields, Value
from brownout.profile.scalars import converted, true

_FIELDS = ("prefix", "exact", "headers")
_HEADER_FIELDS = ("name", "exact_match", "present_match")


class HeaderMatch(Model):
    """A condition on a request header: it has the value `exact_match`, or (`present_match`) any value.

    `name` is in lower case and `host` is `:authority`; values compare with case.
    """

    name: str
    exact_match: str | None = None
    present_match: bool = False

    @field_validator("name")
    @classmethod
    def _normal_name(cls, name: str) -> str:
        return parse_request_name(name)

    @field_validator("exact_match")
    @classmethod
    def _possible_value(cls, value: str | None) -> str | None:
        return None if value is None else refuse_controls(value)

    @model_validator(mode="after")
    def _one_condition(self) -> Self:
        if (self.exact_match is None) is not self.present_match:
            raise ValueError("exactly one of exact_match and present_match: true is required")
        return self


class Match(Model):
    """Conditions that all hold; without any, every request matches.

    `prefix` is compared with the whole path, `exact` with the path without its query.
    """

    prefix: str | None = None
    exact: str | None = None
    headers: tuple[HeaderMatch, ...] = ()


def read_match(value: Value) -> Match | None:
    """Read a match; the empty mapping matches every request."""
    fields = Fields.of(value, _FIELDS)
    if fields is None:
        return None
    return Match(
        prefix=fields.optional("prefix", _prefix) or None,
        exact=fields.optional("exact", _exact),
        headers=fields.defaulted("headers", _read_headers, ()),
    )


def _parse_prefix(text: str) -> str:
    if text and not text.startswith("/"):
        raise ValueError(f'expected the beginning of a path, which is "/", found {quoted(text)}')
    return refuse_controls(text)


def _parse_exact(text: str) -> str:
    if not text.startswith("/") and text != "*":
        raise ValueError(f'expected a path, which begins with "/", found {quoted(text)}')
    if "?" in text:
        raise ValueError(f"expected a path without a query, which is not compared, found {quoted(text)}")
    return refuse_controls(text)


_prefix = converted(_parse_prefix)
_exact = converted(_parse_exact)
_header_name = converted(parse_request_name)
_header_value = converted(refuse_controls)


def _read_headers(value: Value) -> tuple[HeaderMatch, ...] | None:
    return value.each(_read_header)


def _read_header(value: Value) -> HeaderMatch | None:
    fields = Fields.of(value, _HEADER_FIELDS)
    if fields is None:
        return None
    name = fields.required("name", _header_name)
    exact_match = fields.optional("exact_match", _header_value)
    present_match = fields.defaulted("present_match", true, False)
    fields.one_of("exact_match", "present_match")
    if name is None or (exact_match is None) is not present_match:
        return None
    return HeaderMatch(name=name, exact_match=exact_match, present_match=present_match)


def dump_match(match: Match) -> dict[str, Any]:
    """Return the mapping that `read_match` reads as `match`."""
    plain: dict[str, Any] = {}
    if match.prefix is not None:
        plain["prefix"] = match.prefix
    if match.exact is not None:
        plain["exact"] = match.exact
    if match.headers:
        plain["headers"] = [_dump_header(header) for header in match.headers]
    return plain


def _dump_header(header: HeaderMatch) -> dict[str, Any]:
    condition = {"present_match": True} if header.exact_match is None else {"exact_match": header.exact_match}
    return {"name": header.name, **condition}
