"""Connections: the same transactions on SQLite and PostgreSQL."""

from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from brownout.store.errors import StoreError

_WRITER = 0x62726F776E6F7574  # "brownout": the key of PostgreSQL's advisory lock


def database_url(text_: str) -> URL:
    """Return the URL of a database given as a URL or as the path of a SQLite file.

    Raises:
        StoreError: It is neither SQLite with a file nor PostgreSQL.
    """
    try:
        url = make_url(text_ if "://" in text_ else f"sqlite:///{text_}")
    except (ArgumentError, ValueError):  # not shown: whatever is wrong with it, it may hold a password
        raise StoreError(f"the database's URL cannot be read: {_EXPECTED}") from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database not in {None, "", ":memory:"}:
        return url.set(drivername="sqlite")
    if backend in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(f"{url.render_as_string()!r} cannot be used: {_EXPECTED}")


_EXPECTED = "expected the path of a SQLite file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/NAME"


def sqlite_path(url: URL) -> Path | None:
    """Return the file of a SQLite database; None for PostgreSQL."""
    if url.get_backend_name() != "sqlite":
        return None
    return Path(str(url.database)).absolute()


def make_engine(url: URL) -> Engine:
    """Return an engine with the write discipline: a transaction is durable when its commit returns."""
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=4, connect_args={"connect_timeout": 5})
    engine = create_engine(url, pool_size=4, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: SqliteConnection, _record: object) -> None:
    # The driver must not begin transactions by itself: it would begin them DEFERRED, and a read that later
    # writes would fail or, across two statements, lose updates.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("brownout_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def begin_write(connection: Connection) -> None:
    """Begin a transaction that is the only one to write, over all processes, until it ends."""
    connection.execution_options(brownout_write=True)
    connection.begin()
    if connection.dialect.name == "postgresql":
        # A replica that hangs within its transaction must not stop the others for long.
        connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '30s'")
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITER})
