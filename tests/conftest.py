"""Databases for the tests of every area: what works on one must work on the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from migrations import migrate
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL server."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any schema."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'brownout.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_schema()


@pytest.fixture
def database(empty_database: str) -> str:
    """The URL of a database with the present schema."""
    migrate(empty_database)
    return empty_database
