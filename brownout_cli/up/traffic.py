"""A little traffic through Envoy, and what a client sees of it."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import httpx

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One response: of which endpoint, its status, and the seconds that the client waited for it."""

    endpoint: str
    status: int
    seconds: float


async def send_traffic(
    url: str,
    paths: Sequence[tuple[str, str]],
    each: int,
    *,
    concurrency: int,
    advance: Callable[[], None],
) -> list[Seen]:
    """Send `each` requests to every path, the paths in turn.

    Args:
        url: Envoy's listener.
        paths: endpoint names with the path to ask for.
        each: requests for each of them.
        concurrency: how many at a time.
        advance: called after every response.

    Raises:
        httpx.HTTPError: Envoy does not answer.
    """
    work = chain.from_iterable([paths] * each)
    seen: list[Seen] = []
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    client = httpx.AsyncClient(base_url=url, limits=limits, timeout=_TIMEOUT, trust_env=False)
    async with client, asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(_worker(client, work, seen, advance))
    return seen


async def _worker(
    client: httpx.AsyncClient, work: Iterator[tuple[str, str]], seen: list[Seen], advance: Callable[[], None]
) -> None:
    for endpoint, path in work:
        begin = time.perf_counter()
        response = await client.get(path)
        seen.append(Seen(endpoint, response.status_code, time.perf_counter() - begin))
        advance()
