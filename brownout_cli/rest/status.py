"""`brownout status`: fleets, nodes, and how far they are."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from brownout_cli.rest.client import Client, path_of
from brownout_cli.rest.options import DEFAULT_SERVER, Json, Server
from brownout_cli.rest.output import moment, print_json, print_table, stdout, talking

Fleet = Annotated[str | None, typer.Argument(metavar="[FLEET]", help="Only this fleet.")]


def _collect(client: Client, only: str | None) -> list[dict[str, Any]]:
    fleets = client.items(path_of("fleets")) if only is None else [client.get(path_of("fleets", only)).body]
    found = []
    for fleet in fleets:
        path = path_of("fleets", fleet["name"], "nodes")
        progress = client.get(path, limit=1).body
        del progress["items"], progress["next"]
        endpoints = client.items(path_of("fleets", fleet["name"], "endpoints"))
        found.append(
            {
                **progress,
                "mode": fleet["mode"],
                "endpoints": len(endpoints),
                "faults": sum(1 for each in endpoints if each["fault"] and each["fault"]["enabled"]),
                "listed": client.items(path),
            }
        )
    return found


def _state(fleet: dict[str, Any]) -> str:
    if fleet["rejecting"]:
        return f"{fleet['rejecting']} rejecting"
    if not fleet["nodes"]:
        return "no node connected"
    return "converged" if fleet["converged"] else f"{fleet['current']} of {fleet['nodes']} current"


def _acknowledged(node: dict[str, Any]) -> str:
    return " ".join(
        f"{kind}@{node['acknowledged'][kind]['revision']}"
        for kind in ("cds", "eds", "lds", "rds", "ecds")
        if kind in node["acknowledged"]
    )


def _connected(node: dict[str, Any]) -> str:
    return "refused" if node["refused"] else "yes" if node["connected"] else "no"


def _print_rejections(nodes: Iterable[dict[str, Any]]) -> None:
    for node in nodes:
        who = f"{node['fleet']}/{node['id']}"
        if node["refused"]:
            _print_red(f"{who} is kept out", f"since {moment(node['since'])}: {node['refused']}")
        for kind, rejection in node["rejected"].items():
            _print_red(f"{who} rejected {kind.upper()}", f"at {moment(rejection['at'])}: {rejection['text']}")
            if rejection["finding"]:
                stdout().print(f"  {escape(rejection['finding'])}")


def _print_red(what: str, details: str = "") -> None:
    stdout().print(f"[red]{escape(what)}[/red] {escape(details)}".rstrip())


def _print_damage(damaged: Iterable[dict[str, Any]]) -> None:
    for each in damaged:
        _print_red(f"{each['kind']} {each['key']} is damaged and left out")
        for error in each["errors"]:
            where = f"{error['path']}: " if error["path"] else ""
            stdout().print(f"  {escape(where + error['message'])}")


def _print_fleets(fleets: Iterable[dict[str, Any]]) -> None:
    print_table(
        ("FLEET", "MODE", "ENDPOINTS", "FAULTS", "NODES", "REVISION", "STATE"),
        (
            (
                each["fleet"],
                each["mode"],
                str(each["endpoints"]),
                "halted" if each["halted"] else str(each["faults"]),
                str(each["nodes"]),
                str(each["revision"]),
                _state(each),
            )
            for each in fleets
        ),
        empty="no fleet is configured",
    )


def _print_nodes(nodes: Sequence[dict[str, Any]]) -> None:
    if not nodes:
        return
    stdout().print()
    print_table(
        ("NODE", "FLEET", "ENVOY", "CONNECTED", "SINCE", "ACKNOWLEDGED"),
        (
            (
                node["id"],
                node["fleet"],
                node["version"] or "?",
                _connected(node),
                moment(node["since"]),
                _acknowledged(node),
            )
            for node in nodes
        ),
        empty="",
    )
    _print_rejections(nodes)


def status(fleet: Fleet = None, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Show the fleets, their nodes, what these have acknowledged and what they rejected."""
    with talking(server, as_json=as_json) as client:
        fleets = _collect(client, fleet)
        damaged = client.items(path_of("damaged"))
        nodes = [node for each in fleets for node in each.pop("listed")]
        if as_json:
            print_json({"fleets": fleets, "nodes": nodes, "damaged": damaged})
        else:
            _print_fleets(fleets)
            _print_damage(damaged)
            _print_nodes(nodes)
