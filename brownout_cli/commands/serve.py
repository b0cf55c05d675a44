"""`brownout serve`: the control plane."""

from pathlib import Path
from typing import Annotated

import typer

from brownout.profile import ValidationFailed, format_duration
from brownout.settings import Settings, variable
from brownout_cli.addresses import Address, as_address, parse_address
from brownout_cli.commands.options import Database
from brownout_cli.errors import CliError, needs_extra

Http = Annotated[
    Address,
    typer.Option(
        "--http",
        parser=as_address,
        envvar=variable("http"),
        metavar="HOST:PORT",
        help="Where REST listens; loopback only.",
    ),
]
Xds = Annotated[
    Address,
    typer.Option(
        "--xds",
        parser=as_address,
        envvar=variable("xds"),
        metavar="HOST:PORT",
        help="Where Envoys connect.",
    ),
]
XdsCert = Annotated[
    Path | None,
    typer.Option(
        "--xds-cert",
        envvar=variable("xds_cert"),
        metavar="FILE",
        help="Speak TLS to Envoys, with this certificate.",
    ),
]
XdsKey = Annotated[
    Path | None,
    typer.Option("--xds-key", envvar=variable("xds_key"), metavar="FILE", help="The key of --xds-cert."),
]
XdsClientCa = Annotated[
    Path | None,
    typer.Option(
        "--xds-client-ca",
        envvar=variable("xds_client_ca"),
        metavar="FILE",
        help="Let Envoys in only with a certificate that this CA has signed.",
    ),
]
Poll = Annotated[
    str,
    typer.Option(
        "--poll",
        envvar=variable("poll"),
        metavar="DURATION",
        help="How long a lost notification of another replica may stay unnoticed (PostgreSQL).",
    ),
]
_DEFAULTS = Settings()
_HTTP, _XDS = parse_address(_DEFAULTS.http), parse_address(_DEFAULTS.xds)
_POLL = format_duration(_DEFAULTS.poll)


def serve(
    http: Http = _HTTP,
    xds: Xds = _XDS,
    database: Database = _DEFAULTS.database,
    poll: Poll = _POLL,
    xds_cert: XdsCert = None,
    xds_key: XdsKey = None,
    xds_client_ca: XdsClientCa = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the addresses as one line of JSON.")] = False,
) -> None:
    """Run the control plane: REST for people and programs, xDS for Envoys.

    Its database must have this version's schema: run `brownout migrate` first. REST asks for no token, so it
    listens on loopback only.
    """
    if not http.is_loopback:
        raise CliError(
            f"--http {http}: REST asks for no token, so it must listen on loopback (127.0.0.1, ::1)"
        )
    given = {"xds_cert": xds_cert, "xds_key": xds_key, "xds_client_ca": xds_client_ca}
    files = {name: None if path is None else str(path) for name, path in given.items()}
    try:
        settings = Settings.load(
            {"http": str(http), "xds": str(xds), "database": database, "poll": poll, **files}
        )
    except ValidationFailed as failed:
        hints = " / ".join(f"--{each.path.replace('_', '-')}" for each in failed.errors)
        messages = "; ".join(each.message for each in failed.errors)
        raise typer.BadParameter(messages, param_hint=hints) from failed
    with needs_extra("server", "brownout serve"):
        from brownout_cli.serve import serve as run  # noqa: PLC0415 - the control plane is an extra
    run(http, xds, settings, as_json=as_json)
