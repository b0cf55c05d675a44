"""What YAML scalars stand for in the core schema of YAML 1.2: `on`, `1_000` and dates are strings."""

import re
from collections.abc import Callable

from brownout.profile.errors import found, quoted
from brownout.profile.literals import check_text, parse_integer, parse_number

_TAGS = "tag:yaml.org,2002:"
_KINDS: dict[str, type] = {"null": type(None), "bool": bool, "int": int, "float": float}

# JSON, which YAML 1.2 includes, writes characters beyond U+FFFF by two escapes.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def _not_finite(text: str) -> float:
    raise ValueError(f"expected a finite number, found {text}")


_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[str], float]], ...] = (
    (re.compile(r"[-+]?[0-9]+"), parse_integer),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), parse_number),
    (re.compile(r"0o[0-7]+"), lambda text: parse_integer(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: parse_integer(text[2:], 16)),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _not_finite),
)


def scalar(text: str, tag: str | None, *, plain: bool) -> object:
    """Return what a scalar stands for.

    Args:
        text: Its content.
        tag: Its explicit tag, if it has one.
        plain: Whether it is written without quotes.

    Raises:
        ValueError: It is a number or text that no document may hold, or its tag is unknown or contradicts it.
    """
    if not plain and _PAIR.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if tag is None:
        return _resolve(text) if plain else check_text(text)
    if tag in ("!", f"{_TAGS}str"):
        return check_text(text)
    kind = _KINDS.get(tag.removeprefix(_TAGS))
    if kind is None or not tag.startswith(_TAGS):
        raise ValueError(f"expected a value without a tag, found {quoted(tag)}")
    value = _resolve(text)
    if type(value) is not kind:
        raise ValueError(f"expected a value as its tag {quoted(tag)} says, found {found(value)}")
    return value


def _resolve(text: str) -> object:
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] in "+-.0123456789":
        for pattern, convert in _NUMBERS:
            if pattern.fullmatch(text):
                return convert(text)
    return check_text(text)
