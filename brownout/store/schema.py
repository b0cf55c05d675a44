"""Which schema this version works with; `migrations` makes it."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from brownout.store.errors import SchemaMismatch

SCHEMA = "0001"
"""The newest migration. Migrations are numbered, so that a database of a later version is recognised."""


_MIGRATE = "run `brownout migrate` with the same --database"


def check_exists(path: Path) -> None:
    """Make sure that there is a SQLite file: opening one that is not there would make an empty one.

    Raises:
        SchemaMismatch: There is none; the message says what to run.
    """
    if not path.exists():
        raise SchemaMismatch(f"there is no database {path} yet: {_MIGRATE}")


def present_schema(connection: Connection) -> str | None:
    """Return the migration that a database is at; None when it has no schema yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def check_schema(engine: Engine) -> None:
    """Make sure that a database has the schema of this version.

    Raises:
        SchemaMismatch: It has not; the message says what to run.
    """
    with engine.connect() as connection:
        present = present_schema(connection)
    if present == SCHEMA:
        return
    where = f"the database {engine.url.render_as_string()}"
    if present is None:
        raise SchemaMismatch(f"{where} has no schema yet: {_MIGRATE}")
    refuse_unknown(present, where)
    raise SchemaMismatch(f"{where} has schema {present}, this version needs {SCHEMA}: {_MIGRATE}")


def refuse_unknown(present: str, where: str) -> None:
    """Raise SchemaMismatch when `present` is no schema that this version can bring up to date."""
    if not (present.isascii() and present.isdigit()):
        raise SchemaMismatch(f"{where} has the unknown schema {present!r}: it is not one of Brownout's")
    if int(present) > int(SCHEMA):
        raise SchemaMismatch(
            f"{where} has schema {present}, made by a newer Brownout than this one, which knows {SCHEMA}: "
            "upgrade Brownout (`pip install --upgrade brownout`), or use the database's backup from before"
        )
