"""Many requests at once, each on a connection of its own, with little work per request."""

import asyncio
import time
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status (0: none came), headers by lower-case name, seconds until it was complete."""

    status: int
    headers: dict[str, str]
    seconds: float


async def get(address: tuple[str, int], path: str) -> Answer:
    """One GET with `connection: close`."""
    begin = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection(*address)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n".encode())
            answer = await reader.read(-1)
        finally:
            writer.close()
    except OSError:
        return Answer(0, {}, time.perf_counter() - begin)
    head, _, _ = answer.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    return Answer(int(line.split()[1]) if line else 0, headers, time.perf_counter() - begin)


async def get_many(
    address: tuple[str, int], path: str, count: int, *, at_once: int | None = None
) -> list[Answer]:
    """`count` GETs, all of them at once or `at_once` at a time."""
    slots = asyncio.Semaphore(at_once or count)

    async def one() -> Answer:
        async with slots:
            return await get(address, path)

    return await asyncio.gather(*(one() for _ in range(count)))


class Flow:
    """GETs in a few lanes, one after another, while the `async with` block lasts; `answers` has what came."""

    def __init__(self, address: tuple[str, int], path: str, lanes: int = 4) -> None:
        self.answers: list[Answer] = []
        self._address, self._path, self._lanes = address, path, lanes
        self._going = True

    async def _lane(self) -> None:
        while self._going:
            self.answers.append(await get(self._address, self._path))

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._lane()) for _ in range(self._lanes)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._going = False
        await asyncio.gather(*self._tasks)
