"""SIGINT and SIGTERM for a process that has something to end first."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requested() -> Iterator[asyncio.Event]:
    """Give an event that is set by SIGINT and SIGTERM; the default handling is back after the block."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, event.set)
    try:
        yield event
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
