"""A little traffic through Envoy, and what a client sees of it."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from brownout_cli.addresses import Address


@dataclass(frozen=True, slots=True)
class Seen:
    """One response: of which endpoint, its status, and the seconds that the client waited for all of it."""

    endpoint: str
    status: int
    seconds: float


async def send_traffic(  # noqa: PLR0913 - what traffic is
    envoy: Address,
    paths: Sequence[tuple[str, str]],
    each: int,
    *,
    lanes: int,
    within: float,
    advance: Callable[[], None],
) -> list[Seen]:
    """Send `each` requests to every path, the paths in turn.

    Args:
        envoy: its listener.
        paths: endpoint names with the path to ask for.
        each: requests for each of them.
        lanes: how many at a time.
        within: seconds; what is not answered by then is not seen.
        advance: called after every response.

    Raises:
        ExceptionGroup: of OSError and ValueError: Envoy does not answer, or not in HTTP.
    """
    work = chain.from_iterable([paths] * each)
    seen: list[Seen] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(within), asyncio.TaskGroup() as group:
            for _ in range(lanes):
                group.create_task(_lane(envoy, work, seen, advance))
    return seen


async def _lane(
    envoy: Address, work: Iterator[tuple[str, str]], seen: list[Seen], advance: Callable[[], None]
) -> None:
    for endpoint, path in work:
        begin = time.perf_counter()
        status = await _get(envoy, path)
        seen.append(Seen(endpoint, status, time.perf_counter() - begin))
        advance()


async def _get(envoy: Address, path: str) -> int:
    """The status of a GET on a connection of its own.

    A general client takes a millisecond or two of CPU for each, which would be most of what is observed.
    """
    reader, writer = await asyncio.open_connection(envoy.host, envoy.port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: {envoy}\r\nconnection: close\r\n\r\n".encode())
        line, _, _ = (await reader.read(-1)).partition(b"\r\n")
    finally:
        writer.close()
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/"):
        raise ValueError(f"no HTTP response, but {line[:40]!r}")
    return int(rest[:3])
