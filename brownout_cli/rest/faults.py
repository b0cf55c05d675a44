"""`brownout fault`: the daily act."""

from typing import Annotated, Any

import typer

from brownout_cli.rest.client import path_of
from brownout_cli.rest.options import DEFAULT_SERVER, WITHIN, Json, Server, Wait, Within, fleet_and_endpoint
from brownout_cli.rest.output import moment, print_json, say, talking
from brownout_cli.rest.waiting import settle

app = typer.Typer(no_args_is_help=True, help="Bind a profile to an endpoint, or take it away.")

Where = Annotated[str, typer.Argument(metavar="FLEET/ENDPOINT", help="Which endpoint, as in edge/pay.")]


@app.command("set")
def set_fault(  # noqa: PLR0913 (options)
    endpoint: Where,
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="What to inject.")],
    *,
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Stop by itself after this time (10m, 1h30m)."),
    ] = None,
    percent: Annotated[
        float | None,
        typer.Option("--percent", help="Share of the matching requests, 0 to 100; 100 by default."),
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option("--node", metavar="ID", help="Only on this node; may be repeated.")
    ] = None,
    headers: Annotated[
        bool, typer.Option("--headers/--no-headers", help="Whether responses carry the x-fault-* headers.")
    ] = True,
    wait: Wait = False,
    within: Within = WITHIN,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Inject PROFILE at an endpoint, in place of what it injects now."""
    fleet, name = fleet_and_endpoint(endpoint)
    body: dict[str, Any] = {"profile": profile, "headers": headers}
    if percent is not None:
        body["percent"] = percent
    if duration is not None:
        body["for"] = duration
    if nodes:
        body["nodes"] = {"ids": nodes}
    with talking(server, as_json=as_json) as client:
        reply = client.call("PUT", path_of("fleets", fleet, "endpoints", name, "fault"), body=body)
        fault = reply.body
        if as_json:
            print_json(fault)
        else:
            share = "" if fault["percent"] == 100 else f" for {fault['percent']:g} % of the requests"
            until = f" until {moment(fault['expires_at'])}" if fault["expires_at"] else ""
            say(f"{fleet}/{name} injects {fault['profile']}{share}{until}")
        if wait:
            settle(client, [fleet], reply.revision, within)


@app.command("clear")
def clear_fault(
    endpoint: Where,
    *,
    wait: Wait = False,
    within: Within = WITHIN,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Take the fault of an endpoint away; it answers as its upstream does."""
    fleet, name = fleet_and_endpoint(endpoint)
    path = path_of("fleets", fleet, "endpoints", name)
    with talking(server, as_json=as_json) as client:
        client.call("DELETE", f"{path}/fault")
        reply = client.get(path)
        revision = reply.revision
        if as_json:
            print_json(reply.body)
        else:
            say(f"{fleet}/{name} injects nothing")
        if wait:
            settle(client, [fleet], revision, within)
