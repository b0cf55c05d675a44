"""`brownout upstream`: real backends."""

from typing import Annotated

import typer

from brownout_cli.rest import entities
from brownout_cli.rest.client import path_of
from brownout_cli.rest.entities import Call, Changes, Document, fill
from brownout_cli.rest.options import DEFAULT_SERVER, File, Json, Server, address

app = typer.Typer(no_args_is_help=True, help="Real backends.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the upstream.")]


def _hosts(upstream: Document) -> str:
    return ", ".join(f"{host['address']}:{host['port']}" for host in upstream["hosts"])


@app.command("list")
def list_upstreams(*, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """List the upstreams."""
    columns = {"NAME": lambda each: each["name"], "PROTOCOL": lambda each: each["protocol"], "HOSTS": _hosts}
    entities.show_list(
        Call(server, as_json), path_of("upstreams"), columns, empty="no upstream is configured"
    )


@app.command("show")
def show_upstream(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Show an upstream."""
    entities.show_one(Call(server, as_json), path_of("upstreams", name))


@app.command("set")
def set_upstream(  # noqa: PLR0913 (options)
    name: Name,
    *,
    file: File = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--host", metavar="ADDRESS:PORT", help="Where it is; may be repeated.")
    ] = None,
    protocol: Annotated[str | None, typer.Option("--protocol", help="http1 or http2.")] = None,
    connect_timeout: Annotated[
        str | None,
        typer.Option("--connect-timeout", metavar="DURATION", help="How long connecting may take."),
    ] = None,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Create an upstream or change the given fields; a file replaces it whole."""
    options = {"--host": hosts, "--protocol": protocol, "--connect-timeout": connect_timeout}
    fields = {
        "hosts": [address(each, "--host") for each in hosts or ()],
        "protocol": protocol,
        "connect_timeout": connect_timeout,
    }
    changes = Changes(options, lambda body: fill(body, fields))
    entities.set_entity(Call(server, as_json), path_of("upstreams", name), f"upstream {name}", file, changes)


@app.command("delete")
def delete_upstream(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Delete an upstream that no endpoint uses."""
    entities.delete(Call(server, as_json), path_of("upstreams", name), f"upstream {name}")
