"""Header fields as RFC 9110 allows them, and those that a local response may set."""

import re
import unicodedata

from brownout.profile.errors import quoted
from brownout.profile.model import Model
from brownout.profile.reading import Fields, Value
from brownout.profile.scalars import converted

RESERVED_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Names that belong to the connection or are computed by Envoy; `x-fault-*` is reserved as well."""

RESERVED_PREFIX = "x-fault-"
"""Names with this prefix are the filter's own response headers."""

REQUEST_PSEUDO_HEADERS = (":authority", ":method", ":path", ":protocol", ":scheme")
"""What HTTP/2 makes of the request line, as Envoy does for every request."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
_BLANKS = " \t"
_PAIR_FIELDS = ("name", "value")


class Header(Model):
    """A response header; `name` is in lower case."""

    name: str
    value: str


def parse_name(name: str) -> str:
    """Return a header's name in lower case.

    Raises:
        ValueError: It is not what RFC 9110 calls a token.
    """
    if not _TOKEN.fullmatch(name):
        raise ValueError(
            f"expected a header name (letters, digits and !#$%&'*+-.^_`|~), found {quoted(name)}"
        )
    return name.lower()


def parse_response_name(name: str) -> str:
    """Return the name, in lower case, of a header that a local response may set.

    Raises:
        ValueError: It is no name, or reserved.
    """
    lower = name.lower()
    if name.startswith(":") or lower in RESERVED_HEADERS or lower.startswith(RESERVED_PREFIX):
        raise ValueError(
            f"{quoted(name)} is reserved, as are pseudo-headers, {', '.join(sorted(RESERVED_HEADERS))} "
            f"and {RESERVED_PREFIX}*"
        )
    return parse_name(name)


def parse_request_name(name: str) -> str:
    """Return the name, in lower case, of a request header to look at; `host` is `:authority`.

    Raises:
        ValueError: It is neither a name nor a pseudo-header of requests.
    """
    lower = name.lower()
    if name.startswith(":"):
        if lower not in REQUEST_PSEUDO_HEADERS:
            raise ValueError(f"expected one of {', '.join(REQUEST_PSEUDO_HEADERS)}, found {quoted(name)}")
        return lower
    return ":authority" if lower == "host" else parse_name(name)


def parse_value(value: str) -> str:
    """Return `value` if it can stand in a header; a tab inside can (RFC 9110, section 5.5).

    Raises:
        ValueError: It has other control characters, or begins or ends with a space or a tab, which no
            receiver would see.
    """
    if value != value.strip(_BLANKS):
        raise ValueError(
            f"expected text that neither begins nor ends with a space or a tab, found {quoted(value)}"
        )
    if _CONTROL.search(value.replace("\t", " ")):
        raise ValueError(f"expected text without control characters except tabs, found {quoted(value)}")
    return value


def refuse_controls(value: str) -> str:
    """Return `value`.

    Raises:
        ValueError: It has control characters (of ASCII or Latin 1).
    """
    if _CONTROL.search(value):
        raise ValueError(f"expected text without control characters, found {quoted(value)}")
    return value


def read_headers(value: Value) -> tuple[Header, ...] | None:
    """Read the headers of a local response; `content-type` may be given once and has a visible value."""
    content_types = 0

    def read(item: Value) -> Header | None:
        nonlocal content_types
        name_at, value_at = _parts(item)
        name = None if name_at is None else _name(name_at)
        if name_at is not None and name == "content-type":
            content_types += 1
            if content_types > 1:
                name_at.fail("content-type may be given only once")
            if value_at is not None and isinstance(value_at.raw, str) and is_blank(value_at.raw):
                value_at.fail(f"expected a content type, found only blanks: {quoted(value_at.raw)}")
                return None
        text = None if value_at is None else _value(value_at)
        return None if name is None or text is None else Header(name=name, value=text)

    return value.each(read)


_name = converted(parse_response_name)
_value = converted(parse_value)


def is_blank(text: str) -> bool:
    """Tell whether nothing in `text` is visible: spaces of all kinds, format characters, controls."""
    return all(unicodedata.category(character)[0] in "CZ" for character in text)


def _parts(item: Value) -> tuple[Value | None, Value | None]:
    """Return where the name and the value stand: in a pair or in a mapping."""
    if isinstance(item.raw, list | tuple):
        if len(item.raw) != 2:
            item.fail(f"expected a pair of name and value, found a list of {len(item.raw)}")
            return None, None
        return item.child(0, item.raw[0]), item.child(1, item.raw[1])
    fields = Fields.of(item, _PAIR_FIELDS)
    if fields is None:
        return None, None
    return fields.required("name", _itself), fields.required("value", _itself)


def _itself(value: Value) -> Value:
    return value
