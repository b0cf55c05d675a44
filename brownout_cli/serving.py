"""A uvicorn server that belongs to a larger process."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

GRACE_SECONDS = 3
"""After which requests that still run are cut off."""


class HttpServer(uvicorn.Server):
    """Serves an ASGI application on a socket that is open already, in the running event loop.

    Signals are the composition root's, not uvicorn's.
    """

    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._serving = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the process's signal handlers alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets)
        self._serving.set()

    async def start(self, listener: socket.socket) -> asyncio.Task[None]:
        """Serve in a task; returns when connections are accepted.

        Returns:
            The task, which ends after `should_exit` is set, or with an error.
        """
        task = asyncio.create_task(self.serve(sockets=[listener]))
        serving = asyncio.create_task(self._serving.wait())
        await asyncio.wait([task, serving], return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        if task.done():
            task.result()
        return task
