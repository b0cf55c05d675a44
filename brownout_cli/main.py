"""The command `brownout`: all subcommands in one application."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.markup import escape

from brownout_cli import rest
from brownout_cli.commands import envoy, migrate, serve, up
from brownout_cli.errors import CliError
from brownout_cli.rest.output import stderr

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": False}

app = typer.Typer(
    name="brownout",
    help="Make an Envoy fleet behave like the production systems behind it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"brownout {version('brownout')}\n")
        raise typer.Exit


@app.callback()
def _common(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


app.command("up")(up.up)
app.command("serve")(serve.serve)
app.command("migrate")(migrate.migrate)
app.command("envoy", context_settings=_PASS_ON)(envoy.envoy)
app.command("bootstrap")(envoy.print_bootstrap)
app.command("module-path")(envoy.module_path)
rest.register(app)


def run() -> None:
    """Run the command line; an expected error is one message on stderr and exit code 1."""
    try:
        app()
    except CliError as error:
        stderr().print(f"[red]error:[/red] {escape(str(error))}")
        sys.exit(1)
