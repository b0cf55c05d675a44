"""JSON texts, strictly: what Python's decoder lets pass becomes a finding with its path."""

import json
import re
from typing import TYPE_CHECKING, Any

from brownout.profile.literals import check_text, parse_integer, parse_number
from brownout.profile.reading import MAX_DEPTH, Findings, Refused, Value

if TYPE_CHECKING:
    from brownout.profile.errors import Key

# A string that may decode to U+0000 or to half of a surrogate pair.
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
# From here on Envoy writes the whole numbers of a Struct with an exponent (1e+15).
_ENVOY_WRITES_EXPONENTS = 1e15


class _Refused(Refused):
    """Stands for a number that is none; `message` says why."""

    def __init__(self, message: str) -> None:
        self.message = message


class _Repeating:
    """Stands for an object with a repeated name."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


class _Decoding:
    """The decoder's hooks for one text; `suspect` tells that its result must be looked through."""

    def __init__(self, text: str) -> None:
        brackets = text.count("[") + text.count("{")
        self.suspect = brackets > MAX_DEPTH or _SUSPECT_ESCAPE.search(text) is not None

    def mapping(self, pairs: list[tuple[str, object]]) -> object:
        result = dict(pairs)
        if len(result) == len(pairs):
            return result
        self.suspect = True
        return _Repeating(pairs)

    def integer(self, digits: str) -> int | _Refused:
        try:
            return parse_integer(digits)
        except ValueError as error:
            return self._refuse(error)

    def number(self, digits: str) -> float | _Refused:
        try:
            value = parse_number(digits)
        except ValueError as error:
            return self._refuse(error)
        if "e+" in digits and _ENVOY_WRITES_EXPONENTS <= abs(value) < 2**63:
            return int(value)
        return value

    def constant(self, name: str) -> _Refused:
        return self._refuse(ValueError(f"expected a finite number, found {name}"))

    def _refuse(self, error: ValueError) -> _Refused:
        self.suspect = True
        return _Refused(str(error))


def parse_json(text: str, findings: Findings) -> object:
    """Return the value of a JSON text.

    Repeated names, numbers that are not finite, integers beyond 64 bits and unwritable strings are findings.

    Raises:
        json.JSONDecodeError: It is no JSON.
        ValidationFailed: It is nested too deeply, or has too many findings.
    """
    hooks = _Decoding(text)
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=hooks.mapping,
            parse_int=hooks.integer,
            parse_float=hooks.number,
            parse_constant=hooks.constant,
        )
    except RecursionError:
        findings.stop_too_deep()
    return _looked_through(value, findings) if hooks.suspect else value


def _looked_through(root: object, findings: Findings) -> object:
    """Return `root` as plain values, having noted what is wrong with it."""
    holder: list[object] = [root]
    todo: list[tuple[Any, Key, Value]] = [(holder, 0, Value(root, findings))]
    while todo:
        container, key, at = todo.pop()
        value = at.raw
        if isinstance(value, _Repeating):
            value = container[key] = _first_of_each(value, at)
        if isinstance(value, _Refused):
            at.fail(value.message)
        elif isinstance(value, str):
            _check(value, at)
        elif isinstance(value, dict | list):
            if len(at.keys) >= MAX_DEPTH:
                findings.stop_too_deep()
            children = list(value.items() if isinstance(value, dict) else enumerate(value))
            todo.extend((value, step, at.child(step, child)) for step, child in reversed(children))
            if isinstance(value, dict):
                for name in value:
                    _check(name, at)
    return holder[0]


def _first_of_each(repeating: _Repeating, at: Value) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, value in repeating.pairs:
        if name in result:
            at.child(name).fail("is given twice")
        else:
            result[name] = value
    return result


def _check(text: str, at: Value) -> None:
    try:
        check_text(text)
    except ValueError as error:
        at.fail(str(error))
