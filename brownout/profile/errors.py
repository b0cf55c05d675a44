"""What is wrong with a document: every finding has a path, and says what was expected and what was found."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

Key = str | int
"""One step of a path: the name of a field, or the index in a list."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_SHOWN = 40


class FieldError(NamedTuple):
    """One finding; `path` is like `endpoints[1].responses[0].status`, and `""` for the document itself."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ValidationFailed(Exception):  # noqa: N818 (the project's word; it is a result as much as an error)
    """A document was refused: `errors` holds every finding, `str()` is one line for each."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        super().__init__(self.errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


def join_path(prefix: str, keys: Iterable[Key]) -> str:
    """Return the path of what is reached from `prefix` by `keys`."""
    path = prefix
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        elif not _PLAIN_NAME.fullmatch(key):
            path += f"[{quoted(key)}]"
        else:
            path += f".{key}" if path else key
    return path


def quoted(text: str) -> str:
    """Return `text` in double quotes, on one line, in ASCII, shortened."""
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "…").replace("\\u2026", "…")


def found(value: object) -> str:
    """Describe a value that was not expected: its kind and, for a scalar, what it is, shortened."""
    match value:
        case None | True | False:
            text = json.dumps(value)
        case str():
            text = f"the string {quoted(value)}"
        case int():
            text = f"the integer {_shortened(value)}"
        case float():
            text = f"the number {value!r}"
        case Mapping():
            text = "a mapping"
        case list() | tuple():
            text = "a list"
        case _:
            text = f"a value of type {type(value).__name__}"
    return text


def _shortened(value: int) -> str:
    if value.bit_length() <= 4 * _SHOWN:
        return str(value)
    # Printing a large integer takes quadratic time and Python refuses it beyond 4,300 digits.
    return f"of {value.bit_length()} bits"
