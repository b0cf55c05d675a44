"""`brownout profile`: named fault behaviours."""

from typing import Annotated

import typer

from brownout_cli.rest import entities
from brownout_cli.rest.client import path_of
from brownout_cli.rest.documents import read_mapping
from brownout_cli.rest.entities import Call, Document
from brownout_cli.rest.options import DEFAULT_SERVER, Json, Server

app = typer.Typer(no_args_is_help=True, help="Named fault behaviours.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]


def _behaviour(profile: Document) -> str:
    spec = profile["spec"]
    if "load_based" in spec:
        return "load-based"
    return ", ".join(str(response["status"]) for response in spec.get("responses", ()))


@app.command("list")
def list_profiles(*, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """List the profiles."""
    columns = {
        "NAME": lambda each: each["name"],
        "STATUSES": _behaviour,
        "DESCRIPTION": lambda each: each["description"],
    }
    entities.show_list(Call(server, as_json), path_of("profiles"), columns, empty="no profile is configured")


@app.command("show")
def show_profile(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Show a profile."""
    entities.show_one(Call(server, as_json), path_of("profiles", name))


@app.command("set")
def set_profile(
    name: Name,
    *,
    file: Annotated[
        str,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="YAML or JSON: a profile, or its bare specification; - reads standard input.",
        ),
    ],
    description: Annotated[
        str | None, typer.Option("--description", help="Description, with a bare specification.")
    ] = None,
    server: Server = DEFAULT_SERVER,
    as_json: Json = False,
) -> None:
    """Create or replace a profile."""
    document = read_mapping(file)
    bare = "spec" not in document
    profile = {"spec": document} if bare else document
    if description is not None:
        profile = {**profile, "description": description}
    entities.put(
        Call(server, as_json),
        path_of("profiles", name),
        f"profile {name}",
        profile,
        locate=lambda path: path.removeprefix("spec.") if bare else path,
    )


@app.command("delete")
def delete_profile(name: Name, *, server: Server = DEFAULT_SERVER, as_json: Json = False) -> None:
    """Delete a profile that no fault uses."""
    entities.delete(Call(server, as_json), path_of("profiles", name), f"profile {name}")
