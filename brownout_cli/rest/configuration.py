"""`brownout apply`, `plan`, `export`: everything at once."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.markup import escape

from brownout_cli.rest.client import Client, path_of
from brownout_cli.rest.documents import Merged, read_configuration
from brownout_cli.rest.options import DEFAULT_SERVER, WITHIN, Files, Json, Server, Wait, Within
from brownout_cli.rest.output import print_json, say, stderr, stdout, talking
from brownout_cli.rest.waiting import settle

Prune = Annotated[bool, typer.Option("--prune", help="Also delete what the files do not name.")]

_SIGNS = {"create": "[green]+[/green]", "delete": "[red]-[/red]"}


def _send(client: Client, action: str, merged: Merged, *, prune: bool) -> dict[str, Any]:
    params = {"prune": "true"} if prune else {}
    plan: dict[str, Any] = client.call(
        "POST", path_of("config", action), body=merged.content, params=params
    ).body
    return plan


def _print(changes: Iterable[dict[str, Any]], *, done: str) -> None:
    listed = list(changes)
    for change in listed:
        sign = _SIGNS.get(change["action"], "[yellow]~[/yellow]")
        stdout().print(f"{sign} {escape(change['kind'])} {escape(change['key'])}")
        for line in _differences(change["before"], change["after"]):
            stdout().print(f"    {escape(line)}")
    counted = Counter(change["action"] for change in listed)
    summary = ", ".join(f"{count} {action}" for action, count in counted.items())
    say(f"{done}: {summary}" if listed else "nothing to change")


def _differences(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Iterable[str]:
    """The fields of an update that differ."""
    if before is None or after is None:
        return
    for field in {**before, **after}:
        old, new = before.get(field), after.get(field)
        if old != new:
            yield f"{field}: {_brief(old)} → {_brief(new)}"


def _brief(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _fleets(client: Client, changes: Iterable[dict[str, Any]]) -> list[str]:
    """The fleets to wait for: those that changed, or all when a profile or an upstream did."""
    listed = list(changes)
    if any(change["kind"] in {"profile", "upstream"} for change in listed):
        return [fleet["name"] for fleet in client.items(path_of("fleets"))]
    gone = {each["key"] for each in listed if each["kind"] == "fleet" and each["action"] == "delete"}
    return sorted({change["key"].partition("/")[0] for change in listed} - gone)


def apply(  # noqa: PLR0913 (options)
    files: Files,
    *,
    prune: Prune = False,
    wait: Wait = False,
    within: Within = WITHIN,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Make the server's configuration what the files say, all of it or nothing."""
    merged = read_configuration(files)
    with talking(server, as_json=as_json, locate=merged.locate) as client:
        with stderr().status("applying …"):
            plan = _send(client, "apply", merged, prune=prune)
        if as_json:
            print_json(plan)
        else:
            _print(plan["changes"], done=f"revision {plan['revision']}")
        if wait:
            settle(client, _fleets(client, plan["changes"]), plan["revision"], within)


def plan(
    files: Files, *, prune: Prune = False, server: Server = DEFAULT_SERVER, as_json: Json = False
) -> None:
    """Show what an apply of the files would change."""
    merged = read_configuration(files)
    with talking(server, as_json=as_json, locate=merged.locate) as client:
        found = _send(client, "plan", merged, prune=prune)
        if as_json:
            print_json(found)
        else:
            _print(found["changes"], done="would change")


def export(*, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Print the whole configuration as YAML, ready for apply."""
    with talking(server, as_json=as_json) as client:
        accept = "application/json" if as_json else "application/yaml"
        text = client.text(path_of("config"), accept)
    typer.echo(text.rstrip("\n"))
