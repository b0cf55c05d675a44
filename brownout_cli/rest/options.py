"""Options and arguments that several REST commands share; durations are in Go's notation everywhere."""

from typing import Annotated, Any

import typer

from brownout.profile import parse_duration
from brownout_cli.addresses import parse_address

DEFAULT_SERVER = "http://127.0.0.1:8080"

Server = Annotated[
    str,
    typer.Option(
        "--server", envvar="BROWNOUT_SERVER", metavar="URL", help="Where the control plane's REST is."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Wait until every connected node of the fleet has acknowledged the change."),
]


def _duration(text: str) -> str:
    try:
        parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


WITHIN = "30s"

Within = Annotated[
    str,
    typer.Option(
        "--within", callback=_duration, metavar="DURATION", help="How long --wait waits at most (30s, 2m)."
    ),
]
Files = Annotated[
    list[str],
    typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON file; - reads standard input."),
]

File = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON file; - reads standard input."),
]


def fleet_and_endpoint(text: str) -> tuple[str, str]:
    """Split `FLEET/ENDPOINT`.

    Raises:
        typer.BadParameter: it is something else.
    """
    fleet, slash, endpoint = text.partition("/")
    if not (fleet and slash and endpoint) or "/" in endpoint:
        raise typer.BadParameter(f"expected FLEET/ENDPOINT, as in edge/pay, not {text!r}")
    return fleet, endpoint


def address(text: str, option: str) -> dict[str, Any]:
    """An `ADDRESS:PORT` (IPv6 in brackets) as REST writes it.

    Raises:
        typer.BadParameter: it is something else.
    """
    try:
        found = parse_address(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint=option) from error
    return {"address": found.host, "port": found.port}
