"""`brownout halt`, `resume`: the kill switch."""

from typing import Annotated

import typer
from rich.markup import escape

from brownout_cli.rest.client import path_of
from brownout_cli.rest.options import DEFAULT_SERVER, WITHIN, Json, Server, Wait, Within
from brownout_cli.rest.output import print_json, say, stderr, talking
from brownout_cli.rest.waiting import settle

Fleet = Annotated[str | None, typer.Argument(metavar="[FLEET]", help="Which fleet; without it, all of them.")]


def _switch(  # noqa: PLR0913 (options)
    action: str, fleet: str | None, *, wait: bool, within: str, server: str, as_json: bool
) -> None:
    path = path_of(action) if fleet is None else path_of("fleets", fleet, action)
    with talking(server, as_json=as_json) as client:
        outcome = client.call("POST", path).body
        if as_json:
            print_json(outcome)
        else:
            what = "all fleets" if fleet is None else f"fleet {fleet}"
            say(f"{what}: {'halted, nothing is injected' if outcome['halted'] else 'not halted'}")
        if outcome["problem"]:
            stderr().print(f"[yellow]warning:[/yellow] {escape(outcome['problem'])}")
        if wait:
            fleets = [fleet] if fleet else [each["name"] for each in client.items(path_of("fleets"))]
            settle(client, fleets, outcome["revision"] or 0, within)


def halt(
    fleet: Fleet = None,
    *,
    wait: Wait = False,
    within: Within = WITHIN,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Stop injecting at once; traffic goes on, held responses are released."""
    _switch("halt", fleet, wait=wait, within=within, server=server, as_json=as_json)


def resume(
    fleet: Fleet = None,
    *,
    wait: Wait = False,
    within: Within = WITHIN,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """End a halt."""
    _switch("resume", fleet, wait=wait, within=within, server=server, as_json=as_json)
