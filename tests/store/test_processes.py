"""Processes: who may open a file, and what a killed writer leaves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brownout.store import Store, StoreInUse
from migrations import migrate
from tests.store.samples import fill
from tests.support.postgres import PostgresServer

WRITER = """
import sys
from brownout.domain import Endpoint
from brownout.store import Store

store = Store(sys.argv[1])
for percent in range(1, 100_000):
    fault = {"profile": "slow", "percent": percent % 100 + percent % 7 / 7}
    document = {"name": "pay", "upstream": "payments", "timeout": "15s", "fault": fault}
    store.write(lambda draft: draft.put("edge/pay", Endpoint.load(document)), actor="child")
    print(store.catalog.revision, flush=True)
"""


def writing_process(url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True)


def test_a_second_process_is_refused_and_told_why(tmp_path: Path) -> None:
    """SQLite belongs to one process, which the message names."""
    path = tmp_path / "brownout.db"
    migrate(str(path))
    with Store(str(path)):
        opening = f"from brownout.store import Store; Store({str(path)!r})"
        second = subprocess.run([sys.executable, "-c", opening], capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert f"{path} belongs to process {os.getpid()}, which is still running" in second.stderr
        with pytest.raises(StoreInUse):
            migrate(str(path))
    Store(str(path)).close()


@pytest.mark.parametrize("round_", range(3))
def test_a_killed_writer_loses_no_acknowledged_commit(database: str, round_: int) -> None:
    """SIGKILL in the middle of its writes: the file opens again, with every revision that it reported."""
    with Store(database) as store:
        store.write(fill, actor="ann")
    with writing_process(database) as child:
        assert child.stdout is not None
        for _ in range(20 + 7 * round_):
            acknowledged = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
        child.wait(10)
    acknowledged = max([acknowledged, *map(int, rest.split())])
    with Store(database) as store:
        numbers = [each.number for each in store.history.list(limit=1000)]
        assert numbers[0] >= acknowledged
        assert numbers == list(range(numbers[0], 0, -1))
        [stored] = store.catalog.endpoints("edge")
        assert stored.revision == numbers[0]
        store.write(lambda draft: draft.halt("edge", on=True), actor="ann")
        assert store.catalog.revision == numbers[0] + 1


def test_processes_share_a_postgresql_database(postgres: PostgresServer) -> None:
    """Each takes in what the others commit before it writes; numbers stay without gaps."""
    database = postgres.new_database()
    migrate(database)
    with Store(database) as one, Store(database) as two:
        one.write(fill, actor="ann")
        assert two.catalog.revision == 0
        two.write(lambda draft: draft.halt("edge", on=True), actor="bob")
        assert two.catalog.revision == 5
        assert one.catch_up() == two.catalog
        assert one.catch_up() is one.catalog
