"""The schema: made by migrations, checked when a database is opened."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from brownout.store import SCHEMA, SchemaMismatch, Store, StoreError
from brownout.store.engine import database_url, make_engine
from brownout.store.tables import metadata
from migrations import Migrated, alembic_config, migrate


def set_schema(url: str, version: str) -> None:
    engine = make_engine(database_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    engine.dispose()


def test_the_migrations_make_the_tables_that_the_store_uses(database: str) -> None:
    """Alembic finds no difference."""
    engine = make_engine(database_url(database))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_the_newest_migration_is_the_schema_of_this_version() -> None:
    """One line of history, numbered."""
    scripts = ScriptDirectory.from_config(alembic_config())
    assert scripts.get_current_head() == SCHEMA
    assert [each.revision for each in scripts.walk_revisions()] == [
        f"{number:04}" for number in range(int(SCHEMA), 0, -1)
    ]


def test_migrating_brings_an_empty_database_to_the_schema_once(empty_database: str) -> None:
    """A second time nothing is left to do."""
    assert migrate(empty_database) == Migrated(None, SCHEMA)
    assert migrate(empty_database) == Migrated(SCHEMA, SCHEMA)
    Store(empty_database).close()


def test_a_database_without_a_schema_is_refused(empty_database: str, tmp_path: Path) -> None:
    """The message says what to run."""
    (tmp_path / "brownout.db").touch()
    with pytest.raises(SchemaMismatch, match="has no schema yet: run `brownout migrate` with the same --dat"):
        Store(empty_database)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A mistyped path leaves nothing behind."""
    with pytest.raises(
        SchemaMismatch, match=r"there is no database .*/folder/typo\.db yet: run `brownout mi"
    ):
        Store(str(tmp_path / "folder" / "typo.db"))
    assert list(tmp_path.iterdir()) == []


def test_an_older_schema_is_refused(database: str) -> None:
    """The message says what to run."""
    set_schema(database, "0000")
    with pytest.raises(
        SchemaMismatch, match=f"has schema 0000, this version needs {SCHEMA}: run `brownout migrate`"
    ):
        Store(database)


@pytest.mark.parametrize(
    ("version", "message"),
    [("9000", "made by a newer Brownout than this one"), ("f00", "has the unknown schema 'f00'")],
)
def test_a_newer_or_foreign_schema_is_refused_and_left_alone(
    database: str, version: str, message: str
) -> None:
    """Neither opened nor migrated."""
    set_schema(database, version)
    with pytest.raises(SchemaMismatch, match=message):
        Store(database)
    with pytest.raises(SchemaMismatch, match=message):
        migrate(database)


def test_a_password_is_not_in_the_message() -> None:
    """Messages end in logs."""
    url = database_url("postgresql://ann:secret@127.0.0.1:1/x")
    assert "secret" not in url.render_as_string()
    for malformed in (
        "postgresql://ann:secret@127.0.0.1:port/x",
        "://ann:secret@127.0.0.1",
        "mysql://ann:secret@h",
    ):
        with pytest.raises(StoreError, match="expected the path of a SQLite file") as caught:
            database_url(malformed)
        assert "secret" not in str(caught.value)
