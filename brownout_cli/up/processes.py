"""Processes that `brownout up` starts, and ends."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, cast

from brownout_cli.errors import CliError

_TAIL = 20
_STOP_SECONDS = 5.0


class Child:
    """A process whose output goes to a file and whose last lines are remembered.

    It ends with this process, even if this one is killed.

    Args:
        name: what to call it in messages.
        command: what to run.
        log: the file for its output, written anew.
        env: its environment; this process's own by default.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._env = env
        self._tail: deque[str] = deque(maxlen=_TAIL)

    async def start(self, until: str, timeout: float) -> str:  # noqa: ASYNC109 - the message needs it
        """Start, and wait for the first line that contains `until`.

        Returns:
            That line.

        Raises:
            CliError: it ended before, or did not write that line in `timeout` seconds.
        """
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "brownout_cli.up.child", str(os.getpid())),
            *self._command,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # Ctrl-C reaches the whole foreground group: this process alone decides the order of the end.
            start_new_session=True,
        )
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(until, found))
        try:
            return await asyncio.wait_for(found, timeout)
        except TimeoutError as error:
            await self.stop()
            raise CliError(f"{self.name} did not get ready in {timeout:g} s{self._last_lines()}") from error
        except asyncio.CancelledError:
            await self.stop()
            raise

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def watch(self) -> NoReturn:
        """Wait until it ends by itself.

        Raises:
            CliError: it did; says how, with its last lines.
        """
        await asyncio.shield(self._reader)
        raise self._death()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
            except TimeoutError:
                self._process.kill()
        await self._reader

    async def _read(self, until: str, found: "asyncio.Future[str]") -> None:
        with self.log.open("w") as file:
            async for raw in cast(
                "asyncio.StreamReader", self._process.stdout
            ):  # a pipe, since we asked for one
                line = raw.decode(errors="replace")
                file.write(line)
                file.flush()
                self._tail.append(line)
                if until in line and not found.done():
                    found.set_result(line)
        await self._process.wait()
        if not found.done():
            found.set_exception(self._death())

    def _death(self) -> CliError:
        return CliError(f"{self.name} ended with exit code {self._process.returncode}{self._last_lines()}")

    def _last_lines(self) -> str:
        lines = "".join(f"  {line}" for line in self._tail).rstrip()
        return f"; the end of {self.log}:\n{lines}" if lines else ""
