"""`brownout up`: everything on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from brownout_cli.commands.options import EnvoyPath
from brownout_cli.errors import needs_extra


def _port(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, min=0, max=65535, metavar="PORT", help=f"{what}; 0 takes a free port."
    )
    return option


def up(
    data_dir: Annotated[
        Path,
        typer.Option("--data-dir", metavar="DIR", file_okay=False, help="For the database and the logs."),
    ] = Path(".brownout"),
    http_port: Annotated[int, _port("--http-port", "REST")] = 8080,
    xds_port: Annotated[int, _port("--xds-port", "Where Envoy connects to the control plane")] = 18000,
    envoy_port: Annotated[
        int | None,
        typer.Option(
            "--envoy-port",
            min=0,
            max=65535,
            metavar="PORT",
            show_default="as before, or 10000",
            help="Envoy's listener; 0 takes a free port.",
        ),
    ] = None,
    admin_port: Annotated[int, _port("--admin-port", "Envoy's admin interface")] = 9901,
    upstream_port: Annotated[int, _port("--upstream-port", "The sample upstream")] = 9000,
    requests: Annotated[
        int,
        typer.Option(
            "--requests", min=0, metavar="N", help="For each endpoint of the table; 0 for no table."
        ),
    ] = 300,
    envoy_path: EnvoyPath = None,
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the table.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print URLs and table as one JSON document.")
    ] = False,
) -> None:
    """Start everything on this machine, for a first look: control plane, a sample upstream, one Envoy.

    It sends a little traffic through Envoy, compares configured with observed, and runs until
    Ctrl-C, which ends all processes it started. All of it listens on loopback only, and asks for no token.
    """
    with needs_extra("server", "brownout up"):
        from brownout_cli.up import parts, run  # noqa: PLC0415 - the control plane is an extra
    settings = parts.Settings(
        data_dir, http_port, xds_port, envoy_port, admin_port, upstream_port, requests, envoy_path
    )
    run.up(settings, once=once, as_json=as_json)
