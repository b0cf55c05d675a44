"""The control plane as a process of its own, and Envoys connected to it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from brownout_cli.addresses import Address, parse_address
from brownout_cli.bootstrap import NodeIdentity, bootstrap

from .binaries import REFERENCE
from .clients import client
from .envoy import EnvoyProcess
from .waiting import free_port, wait_until

COMMAND = [sys.executable, "-m", "brownout_cli"]


def clean_environment() -> dict[str, str]:
    """The environment without settings of whoever runs the tests; plain, wide output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BROWNOUT_")}
    return kept | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


class ServerProcess:
    """`brownout serve` on a database: `with` migrates, starts and ends it. It may be killed and restarted.

    Args:
        database: its URL or path.
        options: further options of `brownout serve`.

    Attributes:
        http: a client of `/api/v1` (relative paths: `http.get("profiles")`).
        xds: where Envoys connect; the same after a restart.
    """

    http: httpx.Client

    def __init__(self, database: Path | str, *options: Path | str) -> None:
        self.database = str(database)
        self._options = options
        self._rest = Address("127.0.0.1", free_port())
        self.xds = Address("127.0.0.1", free_port())
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> "subprocess.Popen[str]":
        """The running process."""
        assert self._process is not None
        return self._process

    @property
    def rest(self) -> str:
        """The base URL of REST."""
        return f"http://{self._rest}"

    def start(self) -> None:
        """Start, and wait until it serves."""
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `_end`
        self._process = subprocess.Popen(
            [
                *COMMAND,
                "serve",
                "--json",
                *("--http", str(self._rest), "--xds", str(self.xds), "--database", self.database),
                *self._options,
            ],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise AssertionError(f"brownout serve did not start:\n{self._end()}")
        assert parse_address(json.loads(line)["xds"]) == self.xds
        self.http = client(f"{self.rest}/api/v1/")

    @property
    def log(self) -> str:
        """What it has logged so far."""
        # Not by seek: the process writes where the one position of the file is.
        return os.pread(self._log.fileno(), 1 << 24, 0).decode()

    def stop(self, number: int = signal.SIGTERM, timeout: float = 10.0) -> str:
        """Ask it to end, and fail if it does not end in time or not with 0; return what it logged."""
        before = self.process.poll()
        self.process.send_signal(number)
        code = self.process.wait(timeout)
        log = self._end()
        assert before is None, f"the server had ended with {before}:\n{log}"
        assert code == 0, f"the server ended with {code}:\n{log}"
        return log

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()
        self._end()

    def _end(self) -> str:
        """Let go of what belongs to the process; return what it logged."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        if "http" in self.__dict__:
            self.http.close()
        self._log.seek(0)
        with self._log:
            log = self._log.read()
        self._process = None
        return log

    def __enter__(self) -> Self:
        subprocess.run(
            [*COMMAND, "migrate", "--database", self.database],
            env=clean_environment(),
            check=True,
            capture_output=True,
        )
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        if error is None:
            self.stop()
        else:
            error.add_note(f"what the server logged:\n{self._end()}")

    # -- REST

    def put(self, path: str, document: Any) -> Any:
        """PUT JSON, and return the answer's; fails unless it is a success."""
        answer = self.http.put(path, json=document)
        assert answer.is_success, answer.text
        return answer.json()

    def delete(self, path: str) -> None:
        """DELETE; fails unless it is a success."""
        answer = self.http.delete(path)
        assert answer.is_success, answer.text

    def apply(self, configuration: Any) -> None:
        """Apply a whole configuration."""
        answer = self.http.post("config/apply", json=configuration)
        assert answer.is_success, answer.text

    def wait_converged(self, fleet: str = "edge", nodes: int = 1, timeout: float = 10.0) -> None:
        """Wait until that many nodes are connected and all have acknowledged what is configured now."""

        def converged() -> bool:
            progress = self.http.get(f"fleets/{fleet}/nodes").raise_for_status().json()
            return bool(progress["converged"] and progress["nodes"] >= nodes)

        wait_until(converged, timeout=timeout, what=f"fleet {fleet} converged")

    # -- Envoys

    def envoy(
        self,
        fleet: str = "edge",
        *,
        node_id: str = "e1",
        version: str = REFERENCE,
        wait: str = "ready",
        replicas: Sequence["ServerProcess"] = (),
        **options: Any,
    ) -> EnvoyProcess:
        """An Envoy of a fleet, not started yet, that knows this server and its `replicas`.

        `version` and `wait` go to `EnvoyProcess`, `options` to `bootstrap()`.
        """
        addresses = [self.xds, *(replica.xds for replica in replicas)]
        node = NodeIdentity(node_id, fleet)
        config = bootstrap(node, addresses, admin=Address("127.0.0.1", 0), **options)
        return EnvoyProcess(config, version=version, wait=wait)
