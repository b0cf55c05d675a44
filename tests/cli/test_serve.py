"""`brownout serve` and `migrate`: starting, refusing to, and ending."""

import resource
import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.running import brownout
from tests.e2e.stack import configuration
from tests.support import ServerProcess, free_port, wait_until

SERVE = ("serve", "--http", "127.0.0.1:0", "--xds", "127.0.0.1:0", "--database")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "brownout.db"
    assert brownout("migrate", "--database", str(path)).returncode == 0
    return path


def test_migrate_says_what_it_did(tmp_path: Path) -> None:
    """The first run makes the schema, the second has nothing to do."""
    path = str(tmp_path / "new" / "brownout.db")
    assert brownout("migrate", "--database", path).stdout.startswith("migrated from nothing to ")
    assert brownout("migrate", "--database", path).stdout.startswith("the schema is up to date (")
    assert '"before": ' in brownout("migrate", "--database", path, "--json").stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_quickly_with_everyone_connected(database: Path, number: int) -> None:
    """A signal ends it cleanly before anything is cut off, with an event stream and an Envoy connected."""
    server = ServerProcess(database)
    server.start()
    server.apply(configuration(free_port(), free_port(), profiles={}, endpoints=[]))
    with server.envoy(), httpx.Client(trust_env=False) as http:
        server.wait_converged()
        with http.stream("GET", f"{server.rest}/api/v1/events") as events:
            lines = events.iter_lines()
            assert next(lines).startswith("event:")
            log = server.stop(number)
            assert list(lines)[-1:] == [""]  # the stream came to its regular end
    assert "timeout graceful shutdown exceeded" not in log  # what uvicorn says of what it cuts off


def test_ready_when_envoys_are_served(database: Path) -> None:
    """`/readyz` waits for what Envoys get; nobody sends them to a server that would turn them away."""
    with ServerProcess(database) as server:
        wait_until(lambda: server.http.get("readyz").is_success)
        assert server.http.get("readyz").json() == {"status": "ready", "checks": {"xds": True}}


def test_as_many_open_files_as_allowed(database: Path) -> None:
    """Envoys are not refused for a soft limit of open files that the hard one does not ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with ServerProcess(database) as server:
            assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_second_process_on_the_same_file(database: Path) -> None:
    """A second process on the same SQLite file is refused, and says who has it."""
    with ServerProcess(database) as server:
        answer = brownout(*SERVE, str(database))
        assert answer.returncode == 1
        assert f"belongs to process {server.process.pid}" in answer.stderr
        assert brownout("migrate", "--database", str(database)).returncode == 1


def test_no_schema(tmp_path: Path) -> None:
    """A database without schema is refused, and the message says what to run."""
    answer = brownout(*SERVE, str(tmp_path / "empty.db"))
    assert answer.returncode == 1
    assert "run `brownout migrate`" in answer.stderr


def test_newer_schema(database: Path) -> None:
    """A database that a newer version made is refused by serve and migrate, and left as it is."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for command in (SERVE, ("migrate", "--database")):
        answer = brownout(*command, str(database))
        assert answer.returncode == 1
        assert "made by a newer Brownout" in answer.stderr
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    connection.close()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("option", ["--http", "--xds"])
def test_taken_port(database: Path, taken: int, option: str) -> None:
    """A port that is taken is named with its option."""
    ports = {"--http": "127.0.0.1:0", "--xds": "127.0.0.1:0"} | {option: f"127.0.0.1:{taken}"}
    answer = brownout(
        "serve", "--database", str(database), *(part for pair in ports.items() for part in pair)
    )
    assert answer.returncode == 1
    assert f"port {taken} on 127.0.0.1 is in use: choose another with {option}" in answer.stderr


def test_loopback_only(database: Path) -> None:
    """REST, which asks for no token, is not offered to other machines."""
    answer = brownout("serve", "--http", "0.0.0.0:0", "--database", str(database))
    assert answer.returncode == 1
    assert "must listen on loopback" in answer.stderr


def test_wrong_database() -> None:
    """A URL of another kind of database is refused with the kinds that are known."""
    answer = brownout(*SERVE, "mysql://localhost/x")
    assert answer.returncode == 1
    assert "expected the path of a SQLite file" in answer.stderr
