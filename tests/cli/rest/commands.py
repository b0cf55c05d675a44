"""The command line in this process."""

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner, Result

from brownout_cli.main import app


@dataclass(frozen=True)
class Cli:
    """Runs commands against a server.

    Attributes:
        server: the value of BROWNOUT_SERVER.
    """

    server: str

    def run(self, *arguments: str, text: str | None = None) -> Result:
        """Run a command, `text` being its standard input."""
        environment = {"BROWNOUT_SERVER": self.server, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
        return CliRunner().invoke(app, list(arguments), input=text, env=environment)

    def ok(self, *arguments: str, text: str | None = None) -> str:
        """Run a command that must succeed; its standard output."""
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str, text: str | None = None) -> Any:
        """Run a command with `--json`; what it printed."""
        return json.loads(self.ok(*arguments, "--json", text=text))
