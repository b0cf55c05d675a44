"""The change feed: who is told when the catalog changes."""

import asyncio
from collections.abc import AsyncIterator

from brownout.domain import Catalog


class ChangeFeed:
    """Tells subscribers the latest catalog; belongs to one event loop.

    A published catalog may have the revision of the one before and differ in `halts` only, since a halt is
    delivered before it is recorded: compare the objects.
    """

    def __init__(self) -> None:
        self._latest: Catalog | None = None
        self._closed = False
        self._waiting: set[asyncio.Event] = set()

    @property
    def latest(self) -> Catalog | None:
        """Return what was published last; None before the first."""
        return self._latest

    def publish(self, catalog: Catalog) -> None:
        """Tell everyone; never waits for them."""
        self._latest = catalog
        self._wake()

    def close(self) -> None:
        """End all subscriptions."""
        self._closed = True
        self._wake()

    async def subscribe(self) -> AsyncIterator[Catalog]:
        """Yield the latest catalog, then again after each change; whoever is slow misses what is outdated."""
        event = asyncio.Event()
        self._waiting.add(event)
        seen: Catalog | None = None
        try:
            while not self._closed:
                event.clear()
                if self._latest is not None and self._latest is not seen:
                    seen = self._latest
                    yield seen
                else:
                    await event.wait()
        finally:
            self._waiting.discard(event)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()
