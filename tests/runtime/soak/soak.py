"""One soak: an Envoy, all its clients and upstreams, and what has to be so afterwards."""

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support import EnvoyProcess, exchange, wait_until_async

from . import calls, flood, http1, http2, tunnels
from .asks import Run
from .upstream import hostile_upstream
from .world import World, origin

Client = Callable[[Run, int], Coroutine[None, None, None]]
Report = Callable[[str], None]
WORKERS = 2
PROGRESS_SECONDS = 10.0
QUIET_SECONDS = 30.0
HALTED = "/http1/replace"
STABLE_LISTENER = "limit-default"
CLIENTS: dict[str, tuple[int, Client]] = {
    "h2load": (1, flood.client),
    "http1": (30, http1.client),
    "http2": (16, http2.client),
    "grpc": (4, calls.client),
    "websocket": (4, lambda run, number: tunnels.client(run, "websocket", number)),
    "connect": (2, lambda run, number: tunnels.client(run, "connect", number)),
}
# Seconds between pushes, on average.
PUSHES = {"routes": 0.15, "filter": 1.0, "clusters": 0.7, "listeners": 1.5}
_GAUGES = "(held|in_flight|rq_active|rq_pending_active|streams_active|downstream_cx_active|_draining)$"
_SERIOUS = re.compile(r"\]\[(critical|error)\]|envoy bug failure", re.IGNORECASE)
_EXPECTED: tuple[str, ...] = ()


@dataclass(frozen=True)
class Memory:
    """What Envoy takes, in bytes.

    Attributes:
        resident: of the process.
        allocated: what its allocator has handed out.
    """

    resident: int
    allocated: int


@dataclass(frozen=True)
class Plan:
    """What a soak is.

    Attributes:
        version: of Envoy.
        position: where the filter stands.
        seconds: how long at least.
        requests: how many at least.
        seed: of everything random.
        clients: which of `CLIENTS`.
        floods: how many h2load at a time.
        niceness: theirs.
    """

    version: str
    position: str
    seconds: float
    requests: int
    seed: int
    clients: tuple[str, ...] = tuple(CLIENTS)
    floods: int = 1
    niceness: int = 10


@dataclass
class Result:
    """What there was: the clients' tally, memory half-way and at the end."""

    run: Run
    memory: list[Memory]
    world: World


async def soak(plan: Plan, folder: Path, report: Report) -> Result:
    """Run it; Envoy has ended well and left nothing when this returns."""
    rng = random.Random(plan.seed)
    async with (
        hostile_upstream() as upstream,
        calls.grpc_server() as grpc,
        EnvoyProcess(origin()) as source,
    ):
        world = World(folder, plan.position, (upstream, grpc, source.address()[1]), rng)
        args = ["--drain-time-s", "1"]
        async with EnvoyProcess(
            world.bootstrap(), version=plan.version, concurrency=WORKERS, args=args
        ) as envoy:
            result = Result(Run(world.addresses, plan.seed, plan.niceness), [], world)
            for half in (1, 2):
                await _half(plan, half, result, envoy, report)
                await _quiet(envoy)
                result.memory.append(await asyncio.to_thread(_memory, envoy))
            await _is_well(envoy, result)
    serious = [line for line in envoy.log.splitlines() if _SERIOUS.search(line)]
    assert not [line for line in serious if not any(text in line for text in _EXPECTED)], serious[:20]
    return result


async def _half(plan: Plan, half: int, result: Result, envoy: EnvoyProcess, report: Report) -> None:
    """All clients and pushes, until half of it is done."""
    run = result.run
    run.going = True
    async with asyncio.TaskGroup() as group:
        for name in plan.clients:
            number, client = CLIENTS[name]
            for each in range(plan.floods if name == "h2load" else number):
                group.create_task(client(run, 100 * half + each))
        pushing = group.create_task(_push(run, result.world))
        halting = group.create_task(_halt(run, result.world))
        await _time(plan, half, run, envoy, report)
        run.going = False
        await asyncio.wait([pushing, halting])


async def _time(plan: Plan, half: int, run: Run, envoy: EnvoyProcess, report: Report) -> None:
    """Wait for half the time and half the requests, and say how it goes."""
    begun = time.monotonic()
    said = begun
    while True:
        await asyncio.sleep(0.2)
        now = time.monotonic()
        assert envoy.running, f"Envoy has died after: {run.tally.line()}"
        if now - said >= PROGRESS_SECONDS:
            said = now
            report(f"{plan.version} {plan.position:10} {run.tally.line()}")
        enough = run.tally.requests.total() * 2 >= plan.requests * half
        if run.tally.wrong or (now - begun >= plan.seconds / 2 and enough):
            return


async def _push(run: Run, world: World) -> None:
    """Deliver configurations, any at any time, until the clients stop."""
    rng = run.rng("push", time.monotonic())
    due = dict.fromkeys(PUSHES, 0.0)
    while run.going:
        now = time.monotonic()
        for name, interval in PUSHES.items():
            if due[name] > now:
                continue
            due[name] = now + rng.expovariate(1 / interval)
            world.push(name)
        await asyncio.sleep(max(0.0, min(due.values()) - time.monotonic()))


async def _halt(run: Run, world: World) -> None:
    """Halt and resume now and then; each time until it shows."""
    rng = run.rng("halt")
    address = run.addresses[STABLE_LISTENER]

    def answers(status: int) -> bool:
        # More than once: each chain reads the file by itself, and the last one decides for the process.
        with suppress(OSError):  # it has died: the clients' task group ends
            return all(exchange(address, path=HALTED).status == status for _ in range(20))
        return True

    async def until_it_answers(status: int) -> None:
        await wait_until_async(lambda: answers(status), timeout=30)

    while run.going:
        await asyncio.sleep(rng.uniform(0.5, 4))
        run.halts += 1
        world.halt(halted=True)
        await until_it_answers(200)
        await asyncio.sleep(rng.uniform(0, 0.5))
        world.halt(halted=False)
        await until_it_answers(503)
        run.halts += 1


async def _quiet(envoy: EnvoyProcess) -> None:
    """Wait until Envoy has nothing under way, whoever counts it."""

    def left() -> dict[str, int | str]:
        stats = envoy.stats(_GAUGES).items()
        return {name: value for name, value in stats if value and "admin" not in name}

    try:
        await wait_until_async(lambda: not left(), timeout=QUIET_SECONDS)
    except AssertionError as error:
        error.add_note(f"what is left: {left()}")
        raise


def _memory(envoy: EnvoyProcess) -> Memory:
    status = Path(f"/proc/{envoy.pid}/status").read_text()
    allocated = int(json.loads(envoy.admin("/memory"))["allocated"])
    return Memory(int(status.partition("VmRSS:")[2].split()[0]) * 1024, allocated)


async def _is_well(envoy: EnvoyProcess, result: Result) -> None:
    """The last push is in force, none was refused, and nothing failed in the filter."""
    label = f"push-{result.world.versions['routes']}"
    address = result.run.addresses[STABLE_LISTENER]

    def profile() -> str:
        return exchange(address, path="/http1/delay").header("x-fault-profile") or ""

    with suppress(httpx.TransportError):  # it has died: leaving its block tells
        await wait_until_async(lambda: profile() == label, timeout=20, what=label)
        stats = await asyncio.to_thread(
            envoy.stats, "(update_rejected|update_failure|config_fail|errors_.xx)$"
        )
        assert not {name: value for name, value in stats.items() if value}
