"""`brownout fleet`: the Envoys that share a configuration."""

from typing import Annotated, Any

import typer

from brownout_cli.rest import entities
from brownout_cli.rest.client import path_of
from brownout_cli.rest.entities import Call, Changes, Document, fill
from brownout_cli.rest.exits import Exit
from brownout_cli.rest.options import DEFAULT_SERVER, File, Json, Server, address
from brownout_cli.rest.output import fail

app = typer.Typer(no_args_is_help=True, help="The Envoys that share a configuration.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the fleet: the Envoys' node.cluster.")]


def _listeners(fleet: Document) -> str:
    return ", ".join(f"{each['name']} {each['address']}:{each['port']}" for each in fleet["listeners"])


def _listener(text: str) -> dict[str, Any]:
    name, equals, where = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected NAME=ADDRESS:PORT, not {text!r}", param_hint="--listener")
    return {"name": name, **address(where, "--listener")}


@app.command("list")
def list_fleets(*, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """List the fleets."""
    columns = {"NAME": lambda each: each["name"], "MODE": lambda each: each["mode"], "LISTENERS": _listeners}
    entities.show_list(Call(server, as_json), path_of("fleets"), columns, empty="no fleet is configured")


@app.command("show")
def show_fleet(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Show a fleet, without its endpoints."""
    entities.show_one(Call(server, as_json), path_of("fleets", name))


@app.command("set")
def set_fleet(  # noqa: PLR0913 (options)
    name: Name,
    *,
    file: File = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help="gateway, routes or filter; it never changes afterwards.")
    ] = None,
    listeners: Annotated[
        list[str] | None,
        typer.Option(
            "--listener",
            metavar="NAME=ADDRESS:PORT",
            help="Where its Envoys accept requests; may be repeated.",
        ),
    ] = None,
    certificates: Annotated[
        list[str] | None,
        typer.Option(
            "--certificate",
            metavar="NAME",
            help="Take only Envoys whose certificate has this DNS name or URI; may be repeated.",
        ),
    ] = None,
    any_certificate: Annotated[
        bool, typer.Option("--any-certificate", help="Take every Envoy that can connect.")
    ] = False,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Create a fleet or change the given fields; a file replaces it whole. Its endpoints stay."""
    options = {
        "--mode": mode,
        "--listener": listeners,
        "--certificate": certificates,
        "--any-certificate": any_certificate or None,
    }
    if certificates and any_certificate:
        fail("give either --certificate or --any-certificate, not both", Exit.USAGE)
    fields = {"mode": mode, "listeners": [_listener(each) for each in listeners or ()]}

    def make(body: Document) -> None:
        fill(body, {**fields, "certificates": certificates})
        if any_certificate:
            body["certificates"] = []

    changes = Changes(options, make)
    entities.set_entity(Call(server, as_json), path_of("fleets", name), f"fleet {name}", file, changes)


@app.command("delete")
def delete_fleet(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Delete a fleet with its endpoints."""
    entities.delete(Call(server, as_json), path_of("fleets", name), f"fleet {name}")
