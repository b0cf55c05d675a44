"""The kill switch."""

from brownout.domain import ALL_FLEETS, Conflict, NotFound
from brownout.service.core import Core
from brownout.service.results import Halted
from brownout.store import StoreUnavailable


class Halts(Core):
    """Halt and resume: delivered first, recorded then."""

    async def halt(self, fleet: str | None, *, actor: str) -> Halted:
        """Stop all injection of a fleet (None: of all), whether the store can be written or not."""
        return await self._switch(fleet, actor, on=True)

    async def resume(self, fleet: str | None, *, actor: str) -> Halted:
        """End a halt; Conflict for a fleet while all are halted."""
        if fleet is not None and ALL_FLEETS in self.catalog.halts:
            raise Conflict(f"fleet {fleet!r} cannot be resumed while all fleets are halted: resume all first")
        return await self._switch(fleet, actor, on=False)

    async def _switch(self, fleet: str | None, actor: str, *, on: bool) -> Halted:
        if fleet is not None and fleet not in self.catalog.fleets:
            raise NotFound("fleet", fleet, self.catalog.fleets)
        key = ALL_FLEETS if fleet is None else fleet
        mine = (on, object())
        self._unrecorded[key] = mine
        self._show()
        try:
            changed, revision = await self._write(
                lambda draft: (draft.halt(key, on=on), draft.catalog.revision), actor=actor
            )
        except StoreUnavailable as error:
            return Halted(key, on, None, self._problem(key, error, on=on))
        if self._unrecorded.get(key) is mine:
            del self._unrecorded[key]
            self._show()
        return Halted(key, on, revision if changed else None, None)

    def _problem(self, key: str, error: StoreUnavailable, *, on: bool) -> str:
        what = "all fleets" if key == ALL_FLEETS else f"fleet {key!r}"
        recorded = key in self._recorded.halts
        restarted = "halts" if recorded else "injects into"
        done = "halted" if on else "resumed"
        after = (
            f"a restarted server {restarted} {what}" if recorded != on else "a restarted server does the same"
        )
        return f"{what}: {done} now, but not recorded ({error}); until it is, {after}"
