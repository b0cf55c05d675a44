"""What the REST commands print: results on stdout, everything else on stderr."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from brownout_cli.rest.client import Client, RefusedError, UnreachableError
from brownout_cli.rest.exits import Exit


def stdout() -> Console:
    """The console for results (made at each use: tests and pipes replace the stream)."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def stderr() -> Console:
    """The console for progress and errors."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(message: str) -> None:
    """One line of result for people."""
    stdout().print(escape(message))


def moment(text: str) -> str:
    """A time as REST gives it, to the second."""
    return re.sub(r"\.[0-9]+", "", text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """A table on stdout, or one line that says there is nothing."""
    listed = list(rows)
    if not listed:
        say(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in listed:
        table.add_row(*map(escape, row))
    # A pipe has no width: rich would cut at 80 columns what a script wants whole.
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 10_000)
    console.print(table)


def print_problem(
    problem: dict[str, Any], *, as_json: bool, locate: Callable[[str], str] = lambda path: path
) -> None:
    """A problem as a readable list on stderr; with `--json` as it came.

    Args:
        problem: RFC 9457 problem details.
        as_json: print the JSON.
        locate: turns a path into the body into where the user wrote it.
    """
    console = stderr()
    if as_json:
        console.print(escape(json.dumps(problem, indent=2, ensure_ascii=False)))
        return
    console.print(f"[red]error:[/red] {escape(problem['title'])}: {escape(problem['detail'])}")
    for error in problem["errors"]:
        where = locate(str(error.get("path", "")))
        console.print(f"  {escape(f'{where}: ' if where else '')}{escape(str(error.get('message', '')))}")


@contextmanager
def talking(
    server: str, *, as_json: bool, locate: Callable[[str], str] = lambda path: path
) -> Iterator[Client]:
    """A client whose errors become one clear message and an exit code."""
    try:
        with Client(server) as client:
            yield client
    except RefusedError as refused:
        print_problem(refused.problem, as_json=as_json, locate=locate)
        raise typer.Exit(Exit.REFUSED) from refused
    except UnreachableError as error:
        fail(
            f"{error}\n  Start one with `brownout up` (all on this machine) or `brownout serve`, "
            "or say where it is with --server or BROWNOUT_SERVER.",
            Exit.UNREACHABLE,
        )


def fail(message: str, code: Exit) -> NoReturn:
    """Print an error on stderr and leave with `code`.

    Raises:
        typer.Exit: always.
    """
    stderr().print(f"[red]error:[/red] {escape(message)}")
    raise typer.Exit(code)
