"""Ports and waiting with a deadline."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_given: set[int] = set()


def free_port() -> int:
    """A loopback TCP port that nobody listens on; never the same one twice in a process."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


def wait_until(probe: Callable[[], T], *, timeout: float = 10.0, what: str = "") -> T:
    """Call `probe` until it returns something true, and return that.

    For what sends no event (Envoy's counters, for one). Raises AssertionError after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while not (value := probe()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout} s: {what or probe!r} (last value {value!r})")
        time.sleep(0.02)
    return value


async def wait_until_async(probe: Callable[[], T], *, timeout: float = 10.0, what: str = "") -> T:  # noqa: ASYNC109
    """`wait_until` that leaves the event loop running; `probe` itself runs in a thread."""
    return await asyncio.to_thread(wait_until, probe, timeout=timeout, what=what)
