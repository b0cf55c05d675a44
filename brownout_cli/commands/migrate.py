"""`brownout migrate`: bring the database to this version's schema."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from brownout.settings import Settings
from brownout_cli.commands.options import Database
from brownout_cli.errors import CliError, needs_extra

_DEFAULT = Settings().database


def migrate(
    database: Database = _DEFAULT,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Bring the database to the schema of this version; it is created if need be."""
    with needs_extra("server", "brownout migrate"):
        import migrations  # noqa: PLC0415 - the control plane is an extra
        from brownout.store import StoreError  # noqa: PLC0415 - likewise
    try:
        done = migrations.migrate(database)
    except StoreError as error:
        raise CliError(str(error)) from error
    if as_json:
        sys.stdout.write(json.dumps(asdict(done)) + "\n")
    elif done.before == done.after:
        sys.stdout.write(f"the schema is up to date ({done.after})\n")
    else:
        sys.stdout.write(f"migrated from {done.before or 'nothing'} to {done.after}\n")
