"""`brownout serve`: the control plane."""

from typing import Annotated

import typer

from brownout_cli.addresses import Address, as_address
from brownout_cli.commands.options import Database
from brownout_cli.errors import CliError, needs_extra

Http = Annotated[
    Address,
    typer.Option("--http", parser=as_address, metavar="HOST:PORT", help="Where REST listens; loopback only."),
]
Xds = Annotated[
    Address, typer.Option("--xds", parser=as_address, metavar="HOST:PORT", help="Where Envoys connect.")
]
_HTTP = Address("127.0.0.1", 8080)
_XDS = Address("127.0.0.1", 18000)


def serve(
    http: Http = _HTTP,
    xds: Xds = _XDS,
    database: Database = "brownout.db",
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
    with needs_extra("server", "brownout serve"):
        from brownout_cli.serve import serve as run  # noqa: PLC0415 - the control plane is an extra
    run(http, xds, database, as_json=as_json)
