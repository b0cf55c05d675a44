from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from brownout.service import Service
from brownout.store import Store
from tests.store.samples import fill

NOW = datetime(2030, 1, 31, 18, tzinfo=UTC)


@pytest.fixture
async def service(database: str) -> AsyncIterator[Service]:
    """A running service, on either database; its clock stands still."""
    store = Store(database)
    async with Service(store, clock=lambda: NOW) as service:
        yield service


@pytest.fixture
async def filled(database: str) -> AsyncIterator[Service]:
    """The same with profile `slow`, upstream `payments` and fleet `edge` of endpoints `pay` and `refund`."""
    store = Store(database)
    store.write(lambda draft: fill(draft, "pay", "refund"), actor="setup")
    async with Service(store, clock=lambda: NOW) as service:
        yield service
