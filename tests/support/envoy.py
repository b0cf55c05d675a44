"""A real Envoy process, from start to a checked end."""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from .binaries import MODULE_FOLDER, REFERENCE, envoy_binary
from .live_log import LiveLog
from .waiting import wait_until

_READY = "all dependencies initialized. starting workers"
_STOP_SECONDS = 20.0
_SETTLE_SECONDS = 10.0
_GAUGES = "(^|[.])brownout[.](held|in_flight)$"


class EnvoyProcess:
    """Envoy on a configuration; `with` (or `async with`) starts it, and ends it whatever happens.

    Give the configuration as a dict or as a file. Admin and listeners may use port 0: `admin()`, `address()`
    and `url()` know the real one.
    Leaving the `with` block fails if Envoy ended by itself, did not exit cleanly, or still has something of
    the module's held or in flight after a while.

    Args:
        config: a bootstrap, or the path of one.
        version: one of `REFERENCE` and `OLDER`.
        env: variables added to the environment; Envoy finds the module built here unless they say otherwise.
        concurrency: worker threads.
        args: further command line arguments.
        wait: how far `start()` waits: `ready` (serving), `admin` (admin interface up, for an Envoy whose
            control plane is absent) or `none`.
        timeout: seconds that `start()` waits.
        log_level: Envoy's; at least `info`, readiness is read from the log.
        settles: whether the gauges have to come to 0 before the `with` block is left; False for a test that
            ends Envoy in the middle of a hold (the attribute of this name may be changed later, too).
    """

    def __init__(
        self,
        config: Mapping[str, Any] | Path,
        *,
        version: str = REFERENCE,
        env: Mapping[str, str] | None = None,
        concurrency: int = 1,
        args: Sequence[str] = (),
        wait: str = "ready",
        timeout: float = 30.0,
        log_level: str = "info",
        settles: bool = True,
    ) -> None:
        self.config = config
        self.version = version
        self._env = {"ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(MODULE_FOLDER)} | dict(env or {})
        self._args = [
            "--concurrency",
            str(concurrency),
            "--log-level",
            log_level,
            "--disable-hot-restart",
            *args,
        ]
        self._wait = wait
        self._timeout = timeout
        self.settles = settles
        self._process: subprocess.Popen[str] | None = None
        self._live_log: LiveLog | None = None

    # -- the process

    @property
    def process(self) -> subprocess.Popen[str]:
        """The running (or ended) process."""
        assert self._process is not None, "Envoy was not started"
        return self._process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start, and wait as far as `wait` says; a failed start ends the process and shows its log."""
        self._folder = tempfile.TemporaryDirectory(prefix="brownout-envoy-")
        path = self.config if isinstance(self.config, Path) else Path(self._folder.name) / "envoy.json"
        if not isinstance(self.config, Path):
            path.write_text(json.dumps(self.config))
        self._admin_file = Path(self._folder.name) / "admin"
        self.__dict__.pop("http", None)
        self._process = subprocess.Popen(
            [envoy_binary(self.version), "-c", path, "--admin-address-path", self._admin_file, *self._args],
            env=os.environ | self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        assert self._process.stderr is not None
        self._live_log = LiveLog(self._process.stderr)
        try:
            if self._wait != "none":
                self.wait_log(
                    "starting main dispatch loop" if self._wait == "admin" else _READY, self._timeout
                )
                wait_until(self._admin_answers, timeout=self._timeout, what="Envoy's /ready")
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """SIGTERM, wait, and fail if it had ended before or does not exit with 0."""
        before = self.process.poll()
        code = self._end()
        assert before is None, f"Envoy ended by itself with {before}\n{self.tail()}"
        assert code == 0, f"Envoy exited with {code}\n{self.tail()}"

    def kill(self) -> None:
        """SIGKILL; nothing is checked."""
        self.process.kill()
        self._end()

    def restart(self) -> None:
        """Stop and start on the same configuration (with port 0, on other ports)."""
        self.stop()
        self.start()

    def wait_exit(self, timeout: float = 30.0) -> int:
        """Wait until it ends by itself (a refused configuration), and return its exit code.

        Leaving the `with` block is then fine.
        """
        code = self.process.wait(timeout)
        self._end()
        self._process = None
        return code

    def _end(self) -> int:
        process = self.process
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._output.join()
        if "http" in self.__dict__:
            self.http.close()
        self._folder.cleanup()
        return process.returncode

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        if error is None:
            try:
                self._settle()
            except BaseException as unsettled:
                self._ended_with(unsettled)
                raise
            self.stop()
            return
        self._ended_with(error)

    def _ended_with(self, error: BaseException) -> None:
        code = self._end()
        error.add_note(f"Envoy exited with {code}; the end of its log:\n{self.tail()}")

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    # -- its log

    @property
    def _output(self) -> LiveLog:
        assert self._live_log is not None, "Envoy was not started"
        return self._live_log

    @property
    def log(self) -> str:
        """All that it has logged since the start."""
        return self._output.text()

    def tail(self, lines: int = 30) -> str:
        """The last lines of its log."""
        return self._output.text(lines)

    def wait_log(self, text: str, timeout: float = 10.0) -> str:
        """Wait for a log line that contains `text`, and return the first such line."""
        return self._output.wait(text, timeout)

    # -- its admin interface

    def _admin_answers(self) -> bool:
        if not self.running or not self._admin_file.exists():
            return False
        return self._wait == "admin" or self.http.get("/ready").status_code == httpx.codes.OK

    @cached_property
    def http(self) -> httpx.Client:
        """A client of the admin interface."""
        return httpx.Client(base_url=f"http://{self._admin_file.read_text()}", trust_env=False, timeout=30)

    @property
    def admin_url(self) -> str:
        """Where the admin interface is."""
        return str(self.http.base_url)

    def admin(self, path: str, *, method: str = "GET") -> str:
        """The text that an admin path answers; fails unless it is a 200."""
        return self.http.request(method, path).raise_for_status().text

    def stats(self, filter: str = "") -> dict[str, int | str]:  # noqa: A002 - Envoy's own word
        """Counters, gauges and text readouts by full name; `filter` is a regular expression on the name."""
        answer = json.loads(self.admin("/stats?format=json" + (f"&filter={filter}" if filter else "")))
        return {stat["name"]: stat["value"] for stat in answer["stats"] if "name" in stat}

    def stat(self, name: str) -> int:
        """One counter or gauge; 0 when Envoy does not have it (yet)."""
        return int(self.stats(f"^{name.replace('.', '[.]')}$").get(name, 0))

    def wait_stat(self, name: str, at_least: int = 1, timeout: float = 10.0) -> int:
        """Wait until a counter or gauge has reached a value."""
        return wait_until(
            lambda: (value := self.stat(name)) >= at_least and (value or True),
            timeout=timeout,
            what=f"{name} >= {at_least}",
        )

    def _settle(self) -> None:
        """Wait until the module counts nothing as held or in flight, if anybody can be asked."""
        if not self.settles or self._wait == "none":
            return
        try:
            wait_until(lambda: not self.left(), timeout=_SETTLE_SECONDS, what="nothing held or in flight")
        except httpx.TransportError:
            self.process.wait(_STOP_SECONDS)  # it has died: `stop` tells
        except AssertionError as error:
            error.add_note(f"what is left: {self.left()}")
            raise

    def left(self) -> dict[str, int | str]:
        """The module's gauges that are not 0."""
        return {name: value for name, value in self.stats(_GAUGES).items() if value}

    def wait_none(self, *names: str) -> None:
        """Wait until counters or gauges are 0."""
        wait_until(lambda: not any(map(self.stat, names)), what=f"none of {', '.join(names)}")

    def prometheus(self) -> str:
        """`/stats/prometheus`."""
        return self.admin("/stats/prometheus")

    def config_dump(self, query: str = "") -> dict[str, Any]:
        """`/config_dump`, for example with `?resource=dynamic_route_configs` or `?include_eds`."""
        dump: dict[str, Any] = json.loads(self.admin("/config_dump" + query))
        return dump

    # -- its listeners

    def address(self, listener: str = "http") -> tuple[str, int]:
        """Host and port on which a listener really listens."""
        statuses = json.loads(self.admin("/listeners?format=json")).get("listener_statuses", [])
        for status in statuses:
            if status["name"] == listener:
                bound = status["local_address"]["socket_address"]
                return bound["address"], bound["port_value"]
        raise AssertionError(f"no listener {listener!r}: {[status['name'] for status in statuses]}")

    def url(self, path: str = "", listener: str = "http") -> str:
        """The URL of a path behind a listener."""
        host, port = self.address(listener)
        return f"http://{host}:{port}{path}"
