"""`--wait`: until every connected node of a fleet has acknowledged a revision."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import typer
from rich.markup import escape
from rich.status import Status

from brownout.profile import parse_duration
from brownout_cli.rest.client import Client, path_of
from brownout_cli.rest.exits import Exit
from brownout_cli.rest.output import stderr

_INTERVAL = 0.1
"""Seconds between two questions."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a wait ended; `fleets` has each fleet's progress as REST shows it."""

    code: Exit
    fleets: dict[str, dict[str, Any]]


def _reached(progress: dict[str, Any], revision: int) -> bool:
    return bool(progress["revision"] >= revision and progress["converged"])


def _rejected(progress: dict[str, Any], revision: int) -> bool:
    """Whether nothing more can come: who has not acknowledged it has rejected something."""
    return bool(
        progress["revision"] >= revision
        and progress["rejecting"]
        and progress["current"] + progress["rejecting"] >= progress["nodes"]
    )


def wait(client: Client, fleets: Iterable[str], revision: int, timeout: float) -> Outcome:
    """Ask until every fleet has converged on `revision`.

    Args:
        client: where to ask.
        fleets: which fleets.
        revision: what the nodes must have.
        timeout: seconds.
    """
    pending = sorted(set(fleets))
    seen: dict[str, dict[str, Any]] = {}
    deadline = time.monotonic() + timeout
    with stderr().status("waiting …") as status:
        while True:
            for fleet in pending:
                seen[fleet] = client.get(path_of("fleets", fleet, "nodes"), limit=1).body
            pending = [fleet for fleet in pending if not _reached(seen[fleet], revision)]
            if not pending:
                return Outcome(Exit.OK, seen)
            if all(_rejected(seen[fleet], revision) for fleet in pending):
                return Outcome(Exit.REJECTED, seen)
            if time.monotonic() >= deadline:
                return Outcome(Exit.NOT_CONVERGED, seen)
            _show(status, [seen[fleet] for fleet in pending])
            time.sleep(_INTERVAL)


def _show(status: Status, pending: Iterable[dict[str, Any]]) -> None:
    parts = [f"{each['fleet']}: {each['current']} of {each['nodes']} nodes" for each in pending]
    status.update(escape(f"waiting for acknowledgement, {', '.join(parts)} …"))


def settle(client: Client, fleets: Iterable[str], revision: int, within: str) -> None:
    """Wait, and leave with the outcome's exit code unless every fleet has converged.

    Raises:
        typer.Exit: they have not.
    """
    _finish(client, wait(client, fleets, revision, parse_duration(within) / 1e9))


def _finish(client: Client, outcome: Outcome) -> None:
    """Say on stderr how a wait ended."""
    console = stderr()
    for fleet, progress in outcome.fleets.items():
        if not progress["nodes"]:
            console.print(escape(f"{fleet}: no node is connected; the first that connects gets it"))
        elif progress["converged"]:
            console.print(escape(f"{fleet}: {progress['nodes']} of {progress['nodes']} nodes have it"))
        else:
            console.print(
                f"[red]{escape(fleet)}[/red]: {progress['current']} of {progress['nodes']} nodes have it, "
                f"{progress['rejecting']} rejected something"
            )
            for node in client.items(path_of("fleets", fleet, "nodes")):
                for kind, rejection in node["rejected"].items():
                    found = rejection["finding"] or rejection["text"]
                    console.print(escape(f"  {node['id']} rejected {kind.upper()}: {found}"))
    if outcome.code is not Exit.OK:
        raise typer.Exit(outcome.code)
