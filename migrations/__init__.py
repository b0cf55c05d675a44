"""The schema's history, run by `brownout migrate` and `brownout up` (Alembic; no ini file)."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy.exc import SQLAlchemyError

from brownout.store.engine import begin_write, database_url, make_engine, sqlite_path
from brownout.store.errors import StoreUnavailable
from brownout.store.lock import FileLock
from brownout.store.schema import present_schema, refuse_unknown

__all__ = ["Migrated", "alembic_config", "migrate"]


@dataclass(frozen=True, slots=True)
class Migrated:
    """Between which schemas a database was migrated; equal when it was up to date already."""

    before: str | None
    after: str


def alembic_config() -> Config:
    """Return Alembic's configuration of this package, wherever it is installed."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def migrate(url: str) -> Migrated:
    """Bring a database to the schema of this version; one transaction, nobody else writes meanwhile.

    Raises:
        SchemaMismatch: It has a newer or unknown schema.
        StoreInUse: A process has the SQLite file.
        StoreUnavailable: The database cannot be used.
    """
    address = database_url(url)
    engine = make_engine(address)
    path = sqlite_path(address)
    try:
        with nullcontext() if path is None else FileLock(path), engine.connect() as connection:
            begin_write(connection)
            before = present_schema(connection)
            if before is not None:
                refuse_unknown(before, f"the database {address.render_as_string()}")
            config = alembic_config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            after = present_schema(connection)
            connection.commit()
    except SQLAlchemyError as error:
        raise StoreUnavailable(
            f"the database cannot be used: {getattr(error, 'orig', None) or error}"
        ) from error
    finally:
        engine.dispose()
    return Migrated(before, str(after))
