"""The kill switch, with and without a store that can be written."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from brownout.domain import Catalog, Conflict, NotFound
from brownout.service import Service
from brownout.store import Store, StoreUnavailable


async def test_a_fleet_is_halted_and_resumed(filled: Service) -> None:
    """Recorded; a repetition records nothing."""
    halted = await filled.halt("edge", actor="ann")
    assert (halted.halted, halted.revision, halted.problem) == (True, 6, None)
    assert filled.catalog.halted("edge")
    assert (await filled.halt("edge", actor="ann")).revision is None
    resumed = await filled.resume("edge", actor="ann")
    assert (resumed.halted, resumed.revision) == (False, 7)
    assert not filled.catalog.halted("edge")


async def test_a_halt_of_all_holds_for_fleets_that_come_later(filled: Service) -> None:
    """And no fleet can be resumed alone meanwhile."""
    await filled.halt(None, actor="ann")
    await filled.create_fleet({"name": "new", "mode": "routes"}, actor="ann")
    assert filled.catalog.halted("new")
    with pytest.raises(Conflict, match="resume all first"):
        await filled.resume("edge", actor="ann")
    await filled.resume(None, actor="ann")
    assert not filled.catalog.halted("edge")


async def test_an_unknown_fleet_is_not_found(filled: Service) -> None:
    """A typing error must not look like a halt."""
    with pytest.raises(NotFound):
        await filled.halt("egde", actor="ann")


@pytest.fixture
def broken(filled: Service, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The store refuses to write; calling this repairs it."""

    def fail(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("the database cannot be used: disk full")

    write = filled._store.write
    monkeypatch.setattr(filled._store, "write", fail)
    return lambda: monkeypatch.setattr(filled._store, "write", write)


async def test_a_halt_works_when_the_store_cannot_be_written(
    filled: Service, broken: Callable[[], None]
) -> None:
    """It is published, says what is not recorded and what a restart does, and survives other changes."""
    feed = filled.feed.subscribe()
    assert not (await anext(feed)).halted("edge")
    outcome = await filled.halt("edge", actor="ann")
    assert outcome.revision is None
    assert outcome.problem == (
        "fleet 'edge': halted now, but not recorded (the database cannot be used: disk full); until it is, "
        "a restarted server injects into fleet 'edge'"
    )
    published = await anext(feed)
    assert published.halted("edge")
    assert filled.catalog is published
    broken()
    await filled.put_fault("edge", "pay", {"profile": "slow", "percent": 1}, actor="ann")
    assert filled.catalog.halted("edge")
    assert not filled._store.load().halted("edge")
    assert (await filled.halt("edge", actor="ann")).revision == 7
    assert filled._store.load().halted("edge")


async def test_a_resume_that_is_not_recorded_says_so(filled: Service, broken: Callable[[], None]) -> None:
    """A restarted server would halt again."""
    broken()
    await filled.halt(None, actor="ann")
    filled._store.write = fail_write  # type: ignore[method-assign]
    outcome = await filled.resume(None, actor="ann")
    assert outcome.problem is not None
    assert outcome.problem.endswith("a restarted server halts all fleets")
    assert not filled.catalog.halted("edge")


def fail_write(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("gone")


async def test_a_halt_is_published_before_it_is_written(
    filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the writer waits for the disk, the Envoys are already told."""
    entered, released = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    write = filled._store.write

    def slow(*args: Any, **kwargs: Any) -> Any:
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(released.wait(), loop).result(10)
        return write(*args, **kwargs)

    monkeypatch.setattr(filled._store, "write", slow)
    task = asyncio.create_task(filled.halt("edge", actor="ann"))
    await entered.wait()
    latest = filled.feed.latest
    assert latest is not None
    assert latest.halted("edge")
    assert latest.revision == 5
    released.set()
    assert (await task).revision == 6


async def test_a_recorded_halt_is_there_after_a_restart(filled: Service, database: str) -> None:
    """As is its end."""
    await filled.halt("edge", actor="ann")
    await filled.close()
    with Store(database) as store:
        assert store.catalog.halts == frozenset({"edge"})
        assert isinstance(store.catalog, Catalog)
