"""The service: every use of the configuration, as the API and the dashboard call it."""

import asyncio
from collections.abc import Iterable
from typing import Any

from brownout.domain import Draft, FieldError, Kind, Raw, Revision, ValidationFailed
from brownout.service.configuration import export_configuration, parse_configuration
from brownout.service.endpoints import Endpoints
from brownout.service.entities import Entities
from brownout.service.halts import Halts
from brownout.service.paging import DEFAULT_LIMIT, checked_limit
from brownout.service.reconciling import reconcile, restore
from brownout.service.results import Change, Page, Plan


class Service(Entities, Endpoints, Halts):
    """Async façade of the store.

    Reads come from the catalog in memory: they are plain methods and never wait. Writes are validated in a
    thread, committed by the one writer thread, and visible to reads and subscribers when they return.

    `raw` is a parsed mapping, or one YAML or JSON document. `if_match` is the revision the caller last saw.
    Errors, all from `brownout.domain`: `ValidationFailed` (422; every field at once), `NotFound` (404),
    `Conflict` (409; `used_by`), `StaleRevision` (412); and `StoreUnavailable` from `brownout.store` (503).
    """

    def export(self) -> dict[str, Any]:
        """Return the whole configuration as one document; applying it changes nothing."""
        return export_configuration(self.catalog)

    async def plan(self, raw: Raw, *, prune: bool = False) -> Plan:
        """Return what `apply` would do, with the errors it would have."""

        def run() -> Plan:
            wanted = parse_configuration(raw)
            draft = Draft(self.catalog, actor="", at=self._clock())
            base = draft.catalog.revision
            reconcile(draft, wanted, prune=prune)
            return Plan(_changes(draft.revisions), base)

        return await asyncio.to_thread(run)

    async def apply(self, raw: Raw, *, actor: str, prune: bool = False) -> Plan:
        """Make it so, in one transaction with a revision for each change.

        What the document names is created or updated; the rest of the sections it has is deleted with
        `prune`. Endpoints come to stand in the order of the list; those not listed keep their places.
        """
        wanted = await asyncio.to_thread(parse_configuration, raw)

        def command(draft: Draft) -> Plan:
            reconcile(draft, wanted, prune=prune)
            return Plan(_changes(draft.revisions), draft.catalog.revision)

        return await self._write(command, actor=actor)

    async def rollback_fleet(self, name: str, to: int, *, actor: str, if_match: int | None = None) -> Plan:
        """Make a fleet and the list of its endpoints what they were at revision `to`, in one transaction.

        `to` is any number at which it existed (NotFound otherwise); one that was deleted comes back.
        Conflict when a profile or an upstream that it needs is no longer there.
        """
        former = await asyncio.to_thread(self._store.history.fleet, name, to)

        def command(draft: Draft) -> Plan:
            restore(draft, former, if_match=if_match)
            return Plan(_changes(draft.revisions), draft.catalog.revision)

        return await self._write(command, actor=actor)

    async def list_revisions(
        self,
        *,
        kind: Kind | None = None,
        key: str | None = None,
        fleet: str | None = None,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> Page[Revision]:
        """Return a page of the audit trail, newest first.

        All, those of one thing (`kind` and `key`), or those of a fleet with its endpoints, their order and
        its halts.
        """
        checked_limit(limit)
        below = None if cursor is None else _number(cursor)
        found = await asyncio.to_thread(
            self._store.history.list, kind=kind, key=key, fleet=fleet, below=below, limit=limit + 1
        )
        shown = tuple(found[:limit])
        return Page(shown, str(shown[-1].number) if len(found) > limit else None)


def _changes(revisions: Iterable[Revision]) -> tuple[Change, ...]:
    return tuple(Change(each.action, each.kind, each.key, each.before, each.after) for each in revisions)


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise ValidationFailed([FieldError("cursor", f"expected the number of a revision, found {cursor!r}")])
    return int(cursor)
