"""What all uses share: the writer thread, and what readers are shown."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self, TypeVar

from brownout.domain import ALL_FLEETS, Catalog, Damage, Draft
from brownout.store import ChangeFeed, Store, StoreUnavailable

R = TypeVar("R")

_log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
"""How long a lost notification of another process can stay unnoticed."""

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


class Core:
    """Runs the store in its own thread and publishes what is committed; `async with` starts and closes it.

    Attributes:
        feed: Tells the catalog as it is shown, from `start` to `close`.
    """

    def __init__(self, store: Store, *, clock: Clock = utc_now, poll_seconds: float = POLL_SECONDS) -> None:
        self.feed = ChangeFeed()
        self._store = store
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._following: asyncio.Task[None] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="brownout-store")
        self._recorded = store.catalog
        self._shown = self._shown_of = store.catalog
        # Halts and resumes that are in force and not recorded (yet): the state, and whose it is.
        self._unrecorded: dict[str, tuple[bool, object]] = {}

    @property
    def catalog(self) -> Catalog:
        """Return the present catalog, with the halts in force whether they could be recorded or not."""
        return self._shown

    async def start(self) -> None:
        """Publish what is there, and from now on what other processes commit."""
        _warn(self._recorded.damaged.values())
        self.feed.publish(self._shown)
        if self._store.shared:
            self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """End all subscriptions, finish the writes that were begun, and close the store."""
        self.feed.close()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await asyncio.to_thread(self._writer.shutdown)
        self._store.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _write(self, command: Callable[[Draft], R], *, actor: str) -> R:
        """Commit in the writer thread; when this returns, readers and subscribers see it."""
        return await self._in_turn(lambda: self._store.write(command, actor=actor))

    async def _follow(self) -> None:
        async with aclosing(self._store.others(poll_seconds=self._poll_seconds)) as occasions:
            async for _ in occasions:
                try:
                    await self._in_turn(self._store.catch_up)
                except StoreUnavailable as error:
                    _log.warning("changes of other processes are not seen: %s", error)

    async def _in_turn(self, work: Callable[[], R]) -> R:
        loop = asyncio.get_running_loop()

        def run() -> R:
            try:
                return work()
            finally:
                # Published from here, not by the caller: that may have been cancelled, and what is committed
                # must be delivered, in the order of the commits; the loop does so before it wakes the caller.
                loop.call_soon_threadsafe(self._published, self._store.catalog)

        return await loop.run_in_executor(self._writer, run)

    def _published(self, catalog: Catalog) -> None:
        if catalog is not self._recorded:
            before, self._recorded = self._recorded.damaged, catalog
            _warn(each for key, each in catalog.damaged.items() if key not in before)
            self._show()

    def _show(self) -> None:
        """Show the recorded catalog with what is in force beside it."""
        halts = set(self._recorded.halts)
        for key, (on, _) in self._unrecorded.items():
            if key == ALL_FLEETS or key in self._recorded.fleets:
                (halts.add if on else halts.discard)(key)
        if self._shown_of is not self._recorded or self._shown.halts != halts:
            same = self._recorded.halts == halts
            shown = self._recorded if same else replace(self._recorded, halts=frozenset(halts))
            self._shown, self._shown_of = shown, self._recorded
            self.feed.publish(shown)


def _warn(damaged: Iterable[Damage]) -> None:
    for each in damaged:
        errors = "; ".join(map(str, each.errors))
        _log.warning("the stored %s %r is damaged and left out: %s", each.kind, each.key, errors)
