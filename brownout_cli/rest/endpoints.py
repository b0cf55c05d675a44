"""`brownout endpoint`: the ordered list of a fleet's endpoints."""

from typing import Annotated

import typer

from brownout_cli.rest import entities
from brownout_cli.rest.client import path_of
from brownout_cli.rest.entities import Call, Changes, Document, fill
from brownout_cli.rest.options import DEFAULT_SERVER, File, Json, Server, fleet_and_endpoint
from brownout_cli.rest.output import moment, print_json, say, talking

app = typer.Typer(no_args_is_help=True, help="A fleet's endpoints; the first that matches a request wins.")

Where = Annotated[str, typer.Argument(metavar="FLEET/ENDPOINT", help="Which endpoint, as in edge/pay.")]
Fleet = Annotated[str, typer.Argument(metavar="FLEET", help="Name of the fleet.")]


def _match(endpoint: Document) -> str:
    match = endpoint["match"]
    path = match["exact"] or f"{match['prefix'] or ''}*"
    hosts = "" if match["hosts"] == ["*"] else f"{','.join(match['hosts'])} "
    methods = f"{','.join(match['methods'])} " if match["methods"] else ""
    headers = f" +{len(match['headers'])} headers" if match["headers"] else ""
    return f"{methods}{hosts}{path}{headers}"


def _fault(endpoint: Document) -> str:
    fault = endpoint["fault"]
    if fault is None:
        return "-"
    notes = [] if fault["percent"] == 100 else [f"{fault['percent']:g} %"]
    notes += [] if fault["enabled"] else ["disabled"]
    notes += [f"until {moment(fault['expires_at'])}"] if fault["expires_at"] else []
    notes += ["some nodes"] if fault["nodes"] else []
    return f"{fault['profile']} ({', '.join(notes)})" if notes else str(fault["profile"])


def _path(endpoint: str) -> str:
    fleet, name = fleet_and_endpoint(endpoint)
    return path_of("fleets", fleet, "endpoints", name)


@app.command("list")
def list_endpoints(fleet: Fleet, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """List the endpoints of a fleet, in the order in which they are tried."""
    columns = {
        "NAME": lambda each: each["name"],
        "MATCH": _match,
        "UPSTREAM": lambda each: each["upstream"] or "-",
        "FAULT": _fault,
    }
    path = path_of("fleets", fleet, "endpoints")
    entities.show_list(Call(server, as_json), path, columns, empty=f"fleet {fleet} has no endpoints")


@app.command("show")
def show_endpoint(endpoint: Where, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Show an endpoint with its fault."""
    entities.show_one(Call(server, as_json), _path(endpoint))


@app.command("set")
def set_endpoint(  # noqa: PLR0913 (options)
    endpoint: Where,
    *,
    file: File = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--host", help="Host that it is for; may be repeated. Any by default.")
    ] = None,
    prefix: Annotated[str | None, typer.Option("--prefix", help="Paths that start with this.")] = None,
    exact: Annotated[str | None, typer.Option("--exact", help="This path, whatever its query.")] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="HTTP method; may be repeated. Any by default.")
    ] = None,
    upstream: Annotated[
        str | None, typer.Option("--upstream", metavar="NAME", help="Where requests go.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="Route timeout; 0s is none.")
    ] = None,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Create an endpoint, the last of its fleet, or change the given fields; a file replaces it whole."""
    options = {
        "--host": hosts,
        "--prefix": prefix,
        "--exact": exact,
        "--method": methods,
        "--upstream": upstream,
        "--timeout": timeout,
    }

    def change(body: Document) -> None:
        fill(body, {"upstream": upstream, "timeout": timeout})
        match = dict(body.get("match", {}))
        fill(match, {"hosts": hosts, "methods": methods, "prefix": prefix, "exact": exact})
        # The one excludes the other: giving one takes the other's place.
        if (prefix is None) != (exact is None):
            match["prefix"], match["exact"] = prefix, exact
        body["match"] = match

    changes = Changes(options, change)
    entities.set_entity(Call(server, as_json), _path(endpoint), f"endpoint {endpoint}", file, changes)


@app.command("delete")
def delete_endpoint(endpoint: Where, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Delete an endpoint and its fault."""
    entities.delete(Call(server, as_json), _path(endpoint), f"endpoint {endpoint}")


@app.command("order")
def order_endpoints(
    fleet: Fleet,
    names: Annotated[
        list[str], typer.Argument(metavar="ENDPOINT...", help="Every endpoint, once, in order.")
    ],
    *,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Say in which order the endpoints of a fleet are tried."""
    with talking(server, as_json=as_json) as client:
        reply = client.call("PUT", path_of("fleets", fleet, "endpoints-order"), body={"endpoints": names})
        if as_json:
            print_json(reply.body)
        else:
            say(f"{fleet}: {', '.join(reply.body['endpoints'])}")
