"""A long mixed load on a real Envoy with four workers: all that can happen to a stream, at the same time."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, route, wait_until

from .discovery import with_routes_from, write_routes
from .profiles import always, profile, response

CLIENTS = 40
PUSHES_A_SECOND = 20
PREFIX = "cluster.upstream.brownout"
MIXED = [
    {"status": 200, "resolution": 900, "distribution": {"p0": "0s", "p99": "8ms", "p100": "20ms"}},
    {"status": 503, "resolution": 100, "distribution": {"p0": "1ms", "p100": "10ms"}},
]
RETRY = {"retry_on": "5xx", "num_retries": 3, "retry_back_off": {"base_interval": "0.001s"}}
# What each path may answer; None: the connection ended before a response did.
ALLOWED: dict[str, set[int | None]] = {
    "/mixed": {200, 503},
    "/leave": {None},
    "/early": {401},
    "/cut-before": {503},
    "/cut-after": {200, 502, 503, None},
    "/slow": {200},
    "/retry": {200, 503},
    "/rewrite": {503},
}


def routes(push: int) -> list[dict[str, Any]]:
    """The routes; each push changes a label."""
    half = profile(response(503, "1ms"), response(200, "2ms"), override="upstream_response")
    return [
        route("/mixed", profile(*MIXED, label=f"push-{push}", endpoint="mixed")),
        route("/leave", always(200, "30s")),
        route("/early", always(401, "200ms")),
        route("/cut-before", always(200, "5ms")),
        route("/cut-after", always(200, "5ms")),
        route("/slow", always(200, "20ms")),
        route("/retry", half, retry_policy=RETRY),
        route("/rewrite", always(503, "3ms", override="upstream_response")),
    ]


class Load:
    """Clients that each do one thing after the other until the time is over."""

    def __init__(self, address: tuple[str, int], seconds: float) -> None:
        self.address = address
        self.until = time.monotonic() + seconds
        self.seen: Counter[tuple[str, int | None]] = Counter()
        self._actions: list[Callable[[], Awaitable[None]]] = [
            *[self._plain("/mixed")] * 12,
            *[self._plain("/slow"), self._plain("/retry"), self._plain("/rewrite")] * 2,
            self._plain("/cut-before"),
            self._plain("/cut-after"),
            self._leave,
            self._early,
        ]

    async def run(self) -> None:
        """All clients."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self._client())

    async def _client(self) -> None:
        while time.monotonic() < self.until:
            await random.choice(self._actions)()

    def _plain(self, path: str) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            reader, writer = await asyncio.open_connection(*self.address)
            for _ in range(10):
                writer.write(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
                status = await self._status(reader)
                self.seen[path, status] += 1
                if status is None:
                    break
            writer.close()

        return ask

    async def _leave(self) -> None:
        """Ask for what is held for long, and go."""
        _, writer = await asyncio.open_connection(*self.address)
        writer.write(b"GET /leave HTTP/1.1\r\nhost: a\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(random.uniform(0, 0.02))  # the hold's own clock is what is left at random moments
        writer.close()
        self.seen["/leave", None] += 1

    async def _early(self) -> None:
        """Upload slowly to who answers at once."""
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n" + b"x" * 1000)
        self.seen["/early", await self._status(reader)] += 1
        writer.close()

    async def _status(self, reader: asyncio.StreamReader) -> int | None:
        """Read one response; None when it does not come to its end."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            await reader.readexactly(length)
            return int(head.split(" ", 2)[1])
        return None


async def push_and_scrape(path: Path, envoy: EnvoyProcess, until: float) -> list[int]:
    """Push configurations and scrape statistics all the time; returns resident memory over time, in bytes."""
    resident = []
    pushed = 0
    while time.monotonic() < until:
        for _ in range(PUSHES_A_SECOND):
            pushed += 1
            write_routes(path, routes(pushed), str(pushed))
            await asyncio.sleep(1 / PUSHES_A_SECOND)
        assert "envoy_cluster_brownout_in_flight" in await asyncio.to_thread(envoy.prometheus)
        resident.append(await asyncio.to_thread(resident_bytes, envoy.pid))
    return resident


def resident_bytes(pid: int) -> int:
    """A process's resident memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


async def soak(path: Path, envoy: EnvoyProcess, seconds: float) -> tuple[Load, list[int]]:
    load = Load(envoy.address(), seconds)
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run())
        resident = group.create_task(push_and_scrape(path, envoy, load.until))
    return load, resident.result()


@pytest.mark.parametrize(
    ("seconds", "least"),
    [(60, 5_000), pytest.param(600, 200_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
    ids=["short", "long"],
)
def test_soak(tmp_path: Path, seconds: float, least: int) -> None:
    """No crash, no wrong status, nothing left in flight or on a timer, memory flat."""
    path = tmp_path / "routes.json"
    write_routes(path, routes(0), "0")
    paths = {
        "/early": Behaviour(status=401, early=True),
        "/cut-before": Behaviour(reset="before"),
        "/cut-after": Behaviour(body=b"x" * 5000, reset="after"),
        "/slow": Behaviour(delay=0.03),
    }
    with (
        Upstream(paths) as upstream,
        EnvoyProcess(with_routes_from(path, upstream.port), concurrency=4) as envoy,
    ):
        load, resident = asyncio.run(soak(path, envoy, seconds))
        assert envoy.running
        wrong = {one: count for one, count in load.seen.items() if one[1] not in ALLOWED[one[0]]}
        assert not wrong
        assert load.seen.total() >= least
        wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
        assert envoy.stat(f"{PREFIX}.held") == 0
        assert envoy.stat(f"{PREFIX}.errors") == 0
        assert envoy.stat("http.http.rds.brownout.update_rejected") == 0
        assert envoy.stat("http.http.rds.brownout.update_success") > seconds * PUSHES_A_SECOND / 4
        warm = resident[len(resident) // 3]
        assert max(resident[-3:]) < warm * 1.1 + 8 * 1024 * 1024
