"""Commands that talk REST to a running server."""

import typer

from brownout_cli.rest import (
    configuration,
    endpoints,
    faults,
    fleets,
    halts,
    profiles,
    status,
    upstreams,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this package to the command line."""
    app.command("status")(status.status)
    app.add_typer(faults.app, name="fault")
    app.command("halt")(halts.halt)
    app.command("resume")(halts.resume)
    app.command("apply")(configuration.apply)
    app.command("plan")(configuration.plan)
    app.command("export")(configuration.export)
    app.add_typer(profiles.app, name="profile")
    app.add_typer(endpoints.app, name="endpoint")
    app.add_typer(upstreams.app, name="upstream")
    app.add_typer(fleets.app, name="fleet")
