"""Requests that go on while something changes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.support import async_client


async def get(url: str, **headers: str) -> httpx.Response:
    """One request."""
    async with async_client() as http:
        return await http.get(url, headers=headers)


@asynccontextmanager
async def load(url: str, *, clients: int = 4, pause: float = 0.002) -> AsyncIterator[Counter[str]]:
    """Send requests until the block is left; count `status body`, and exceptions by their type."""
    seen: Counter[str] = Counter()
    stop = asyncio.Event()

    async def run(http: httpx.AsyncClient) -> None:
        while not stop.is_set():
            try:
                answer = await http.get(url)
                seen[f"{answer.status_code} {answer.text[:20]}"] += 1
            except httpx.HTTPError as error:
                seen[type(error).__name__] += 1
            await asyncio.sleep(pause)

    async with async_client() as http, asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(run(http))
        try:
            yield seen
        finally:
            stop.set()
