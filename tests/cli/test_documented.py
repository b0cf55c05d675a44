"""docs/reference/cli.md knows every command that runs a part of Brownout, and its options."""

from pathlib import Path
from typing import Any

import typer

from brownout_cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
LOCAL = {"up", "serve", "migrate", "envoy", "bootstrap", "module-path"}


def test_every_command_and_option_is_documented() -> None:
    """Each command has a heading, and each option stands in that part of the page."""
    part = PAGE.read_text().partition("## Commands that run parts of Brownout")[2]
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group
    assert commands.keys() >= LOCAL
    missing = [name for name in LOCAL if f"### brownout {name}\n" not in part]
    for name in LOCAL:
        for parameter in commands[name].params:
            options = [option for option in parameter.opts if option not in {"--help", "context"}]
            missing += [f"{name} {option}" for option in options if f"`{option}" not in part]
    assert missing == []
