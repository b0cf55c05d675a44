"""Files that commands read: one YAML or JSON document each."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brownout.profile import MAX_DOCUMENT_BYTES, ValidationFailed, parse_document
from brownout_cli.rest.exits import Exit
from brownout_cli.rest.output import fail

STDIN = "-"

_MAX_BYTES = 16 * MAX_DOCUMENT_BYTES
"""As much as REST reads of a configuration."""


def read(file: str) -> Any:
    """Parse a file (`-`: standard input).

    Raises:
        typer.Exit: it cannot be read (2), or is not one well-formed document (1).
    """
    try:
        raw = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", Exit.USAGE)
    try:
        return parse_document(raw, max_bytes=_MAX_BYTES)
    except ValidationFailed as failed:
        lines = "\n".join(f"  {error}" for error in failed.errors)
        fail(f"{_shown(file)} is not one well-formed document\n{lines}", Exit.REFUSED)


def read_mapping(file: str) -> dict[str, Any]:
    """Parse a file that holds a mapping.

    Raises:
        typer.Exit: it does not.
    """
    found = read(file)
    if not isinstance(found, Mapping):
        fail(f"{_shown(file)}: expected a mapping of fields to values", Exit.REFUSED)
    return dict(found)


def _shown(file: str) -> str:
    return "standard input" if file == STDIN else file


@dataclass(frozen=True, slots=True)
class Merged:
    """Several configuration files as one, which still knows what came from where.

    Attributes:
        content: the configuration.
        origins: per list, the file of each item and its index there.
    """

    content: dict[str, Any]
    origins: Mapping[str, Sequence[tuple[str, int]]]

    def locate(self, path: str) -> str:
        """A path into the whole (`profiles[3].spec`) as file and path (`b.yaml: profiles[1].spec`)."""
        name, bracket, rest = path.partition("[")
        index, closing, tail = rest.partition("]")
        places = self.origins.get(name, ())
        if not (bracket and closing and index.isdecimal() and int(index) < len(places)):
            return path
        file, place = places[int(index)]
        return f"{_shown(file)}: {name}[{place}]{tail}"


def read_configuration(files: Sequence[str]) -> Merged:
    """Read configuration files; lists of the same name are joined in the order of the files.

    Raises:
        typer.Exit: one of them cannot be read, or two of them cannot be joined.
    """
    content: dict[str, Any] = {}
    origins: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        for name, value in read_mapping(file).items():
            if isinstance(value, list):
                present = content.setdefault(name, [])
                if not isinstance(present, list):
                    fail(f"{_shown(file)}: {name} is a list here and not in an earlier file", Exit.REFUSED)
                present += value
                origins.setdefault(name, []).extend((file, index) for index in range(len(value)))
            elif name in content:
                fail(f"{_shown(file)}: {name} stands in an earlier file too", Exit.REFUSED)
            else:
                content[name] = value  # the server says what is wrong with it
    return Merged(content, origins)
