"""docs/reference/cli.md knows every REST command and option."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from brownout_cli.rest import register
from brownout_cli.rest.exits import Exit

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"
COMMON = {"--server", "--json", "--help"}


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _commands(child, f"{path} {name}")


def _application() -> Any:
    app = typer.Typer(add_completion=False)
    register(app)
    return typer.main.get_command(app)


def _section(text: str, command: str) -> str:
    """The part of the page about a command: from its heading, or from that of its group."""
    words = command.split()
    for length in (3, 2):
        heading = re.search(
            rf"^### {' '.join(words[:length])}\b.*?(?=^##|\Z)", text, re.MULTILINE | re.DOTALL
        )
        if heading:
            return heading[0]
    return ""


def test_every_command_and_option_is_documented() -> None:
    """In the section of its command; what all of them take stands above."""
    text = DOCS.read_text()
    missing = []
    for name, command in _commands(_application(), "brownout"):
        section = _section(text, name)
        if not re.search(rf"{name}(?![\w-])", section):
            missing.append(name)
        for parameter in command.params:
            options = {each for each in (*parameter.opts, *parameter.secondary_opts) if each.startswith("-")}
            missing += [f"{name} {each}" for each in options - COMMON if f"`{each}" not in section]
    assert missing == []
    assert all(each in text for each in ("--server", "--json", "BROWNOUT_SERVER"))


def test_every_exit_code_is_documented() -> None:
    """By its number."""
    text = DOCS.read_text()
    assert [code for code in Exit if f"| {code.value} |" not in text] == []
