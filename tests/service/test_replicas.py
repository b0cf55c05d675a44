"""Several processes on one PostgreSQL: each sees what the others commit."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from brownout.domain import Catalog
from brownout.service import Service
from brownout.store import Store
from migrations import migrate
from tests.store.samples import fill
from tests.support import wait_until_async
from tests.support.postgres import PostgresServer


@pytest.fixture
def shared(postgres: PostgresServer) -> str:
    """A filled PostgreSQL database."""
    url = postgres.new_database()
    migrate(url)
    with Store(url) as store:
        store.write(fill, actor="setup")
    return url


async def until(feed: AsyncIterator[Catalog], revision: int) -> Catalog:
    """The first catalog of at least that revision."""
    async with asyncio.timeout(10):
        async for catalog in feed:
            if catalog.revision >= revision:
                return catalog
    raise AssertionError("the feed has ended")


async def test_a_change_through_one_reaches_the_subscribers_of_the_other(shared: str) -> None:
    """By notification: the poll is far away."""
    async with (
        Service(Store(shared), poll_seconds=3600) as one,
        Service(Store(shared), poll_seconds=3600) as two,
    ):
        feed = two.feed.subscribe()
        await anext(feed)
        await one.put_fault("edge", "pay", {"profile": "slow", "percent": 7}, actor="ann")
        seen = await until(feed, 5)
        assert seen == one.catalog
        await two.halt("edge", actor="bob")
        assert (await until(one.feed.subscribe(), 6)).halted("edge")


async def test_a_lost_notification_is_made_up_by_the_next_poll(shared: str) -> None:
    """Here nobody notifies."""
    async with Service(Store(shared), poll_seconds=0.2) as service:
        with psycopg.connect(shared, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO revisions (number, at, actor, action, kind, key, after) "
                "VALUES (5, now(), 'psql', 'halt', 'halt', 'edge', '{\"halted\": true}')"
            )
        assert (await until(service.feed.subscribe(), 5)).halted("edge")


def listeners(url: str) -> set[int]:
    """The server's processes that serve somebody who listens."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
        return {pid for (pid,) in rows}


async def test_a_broken_connection_is_made_again(shared: str) -> None:
    """The server ends all connections; later changes arrive, and writes work."""
    async with (
        Service(Store(shared), poll_seconds=0.2) as one,
        Service(Store(shared), poll_seconds=0.2) as two,
    ):
        broken = await wait_until_async(lambda: len(found := listeners(shared)) == 2 and found)
        assert broken
        with psycopg.connect(shared, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await one.put_fault("edge", "pay", {"profile": "slow", "percent": 7}, actor="ann")
        assert (await until(two.feed.subscribe(), 5)) == one.catalog
        await wait_until_async(lambda: len(listeners(shared) - broken) == 2)


async def test_writers_of_several_replicas_lose_nothing(shared: str) -> None:
    """Numbers are given under the database's lock: no gap, no duplicate."""
    async with Service(Store(shared)) as one, Service(Store(shared)) as two:

        async def put(service: Service, number: int) -> None:
            document = {"upstream": "payments", "match": {"exact": f"/{number}"}}
            await service.put_endpoint("edge", f"e{number}", document, actor="ann")

        await asyncio.gather(*(put((one, two)[number % 2], number) for number in range(40)))
        final = await until(two.feed.subscribe(), 44)
        assert len(final.endpoints("edge")) == 41
        revisions = (await one.list_revisions()).items
        assert [each.number for each in revisions] == list(range(44, 0, -1))
        assert final == (await until(one.feed.subscribe(), 44))
