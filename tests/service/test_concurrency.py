"""Many writers at once: nothing is lost, the loop is never blocked."""

import asyncio
import time

from brownout.domain import Catalog, StaleRevision
from brownout.service import Service
from tests.support import wait_until_async

WRITERS, ROUNDS = 50, 2


async def test_fifty_read_modify_writers_lose_nothing(filled: Service) -> None:
    """Each counts up in the same endpoint by `if_match`; revisions have no gap."""
    await filled.put_fault("edge", "pay", {"profile": "slow", "percent": 0}, actor="setup")
    first = filled.catalog.revision

    async def count_up(writer: int) -> None:
        for _ in range(ROUNDS):
            while True:
                present = filled.get_endpoint("edge", "pay")
                assert present.entity.fault is not None
                fault = {"profile": "slow", "percent": round(present.entity.fault.percent * 100 + 1) / 100}
                try:
                    await filled.put_fault(
                        "edge", "pay", fault, actor=f"w{writer}", if_match=present.revision
                    )
                except StaleRevision:
                    continue
                break

    await asyncio.gather(*(count_up(writer) for writer in range(WRITERS)))
    fault = filled.get_endpoint("edge", "pay").entity.fault
    assert fault is not None
    assert fault.percent == WRITERS * ROUNDS / 100
    revisions = (await filled.list_revisions(limit=WRITERS * ROUNDS)).items
    assert [each.number for each in revisions] == list(range(first + WRITERS * ROUNDS, first, -1))
    assert filled._store.load() == filled.catalog


async def test_subscribers_get_the_latest_first_then_every_burst_at_least_once(filled: Service) -> None:
    """In the order of the commits; the last is always delivered."""
    seen: list[Catalog] = []

    async def follow() -> None:
        async for catalog in filled.feed.subscribe():
            seen.append(catalog)
            await asyncio.sleep(0.02)  # slower than the commits

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)  # it subscribes
    for percent in range(50):
        await filled.put_fault("edge", "pay", {"profile": "slow", "percent": percent}, actor="ann")
    await wait_until_async(lambda: seen[-1] is filled.catalog)
    filled.feed.close()
    await task
    numbers = [each.revision for each in seen]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 5
    assert len(numbers) < 50


async def test_a_cancelled_caller_does_not_hide_what_was_committed(filled: Service) -> None:
    """The commit that was begun is published."""
    write = filled._store.write
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def announced(*args: object, **kwargs: object) -> object:
        loop.call_soon_threadsafe(entered.set)
        return write(*args, **kwargs)  # type: ignore[arg-type]

    filled._store.write = announced  # type: ignore[method-assign, assignment]
    feed = filled.feed.subscribe()
    await anext(feed)
    task = asyncio.create_task(filled.put_fault("edge", "pay", {"profile": "slow", "percent": 1}, actor="a"))
    await entered.wait()
    task.cancel()
    changed = await asyncio.wait_for(anext(feed), 5)
    assert changed.revision == 6


async def test_the_loop_stays_free_while_a_large_document_is_validated_and_stored(filled: Service) -> None:
    """Other tasks run many times meanwhile."""
    spec = {
        "responses": [
            {"status": 200, "resolution": 1, "distribution": {f"p{p}": f"{p + 1}ms" for p in range(100)}}
            for _ in range(300)
        ]
    }
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    before, start = turns, time.perf_counter()
    await filled.put_profile("large", {"spec": spec}, actor="ann")
    assert time.perf_counter() > start
    assert turns - before > 10
    ticking.cancel()
