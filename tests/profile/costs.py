"""What reading a document costs."""

import gc
import tracemalloc
from collections.abc import Callable
from time import process_time

Reader = Callable[[bytes], object]


def plain(size: int) -> bytes:
    """A harmless document of about that many bytes; byte by byte none of its kind is dearer by much."""
    line = b"- some: text\n"
    return line * (size // len(line))


def seconds(read: Reader, data: bytes, times: int = 5) -> float:
    """CPU time of reading it: the least of several, without the garbage of others."""
    gc.disable()
    try:
        return min(_once(read, data) for _ in range(times))
    finally:
        gc.enable()


def _once(read: Reader, data: bytes) -> float:
    started = process_time()
    read(data)
    return process_time() - started


def peak(read: Reader, data: bytes) -> int:
    """The most memory that reading it takes at a time, in bytes."""
    tracemalloc.start()
    try:
        read(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
