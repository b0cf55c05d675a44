"""The uses of profiles, upstreams and fleets."""

import asyncio
from collections.abc import Mapping

from brownout.domain import (
    Action,
    Draft,
    Fleet,
    Kind,
    NotFound,
    Profile,
    Raw,
    Stored,
    Upstream,
)
from brownout.profile import Behavior, load_profile
from brownout.service import edits
from brownout.service.core import Core
from brownout.service.edits import M
from brownout.service.paging import DEFAULT_LIMIT, page
from brownout.service.parsing import parse_named
from brownout.service.results import Page, Written


class Entities(Core):
    """List, get, create, replace and delete."""

    def get_profile(self, name: str) -> Stored[Profile]:
        """Return a profile."""
        return _found("profile", name, self.catalog.profiles)

    def get_upstream(self, name: str) -> Stored[Upstream]:
        """Return an upstream."""
        return _found("upstream", name, self.catalog.upstreams)

    def get_fleet(self, name: str) -> Stored[Fleet]:
        """Return a fleet; `catalog.halted(name)` tells whether it is halted."""
        return _found("fleet", name, self.catalog.fleets)

    def list_profiles(
        self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[Stored[Profile]]:
        """Return a page of the profiles, in the order of their names."""
        return _listed(self.catalog.profiles, limit, cursor)

    def list_upstreams(
        self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[Stored[Upstream]]:
        """Return a page of the upstreams, in the order of their names."""
        return _listed(self.catalog.upstreams, limit, cursor)

    def list_fleets(self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Stored[Fleet]]:
        """Return a page of the fleets, in the order of their names."""
        return _listed(self.catalog.fleets, limit, cursor)

    async def validate_profile(self, spec: Raw) -> Behavior:
        """Check a bare specification (`responses` or `load_based` at the top)."""
        return await asyncio.to_thread(load_profile, spec)

    async def create_profile(self, raw: Raw, *, actor: str) -> Stored[Profile]:
        """Create a profile; Conflict when the name is taken."""
        return await self._create(Profile, raw, actor)

    async def create_upstream(self, raw: Raw, *, actor: str) -> Stored[Upstream]:
        """Create an upstream; Conflict when the name is taken."""
        return await self._create(Upstream, raw, actor)

    async def create_fleet(self, raw: Raw, *, actor: str) -> Stored[Fleet]:
        """Create a fleet; Conflict when the name is taken."""
        return await self._create(Fleet, raw, actor)

    async def put_profile(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Profile]:
        """Create or replace a profile; its document need not repeat the name."""
        return await self._put(await _parsed(Profile, raw, name), actor, if_match)

    async def put_upstream(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Upstream]:
        """Create or replace an upstream; its document need not repeat the name."""
        return await self._put(await _parsed(Upstream, raw, name), actor, if_match)

    async def put_fleet(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Fleet]:
        """Create or replace a fleet, whose mode never changes; its document need not repeat the name."""
        return await self._put(await _parsed(Fleet, raw, name), actor, if_match)

    async def delete_profile(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        """Delete a profile; Conflict when an endpoint uses it."""
        await self._delete("profile", name, actor, if_match)

    async def delete_upstream(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        """Delete an upstream; Conflict when an endpoint uses it."""
        await self._delete("upstream", name, actor, if_match)

    async def delete_fleet(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        """Delete a fleet with its endpoints."""
        await self._delete("fleet", name, actor, if_match)

    async def rollback_profile(
        self, name: str, to: int, *, actor: str, if_match: int | None = None
    ) -> Written[Profile]:
        """Make a profile what it was at revision `to`; one that was deleted comes back.

        `to` is any number at which it existed; NotFound otherwise.
        """
        former = await asyncio.to_thread(self._store.history.profile, name, to)
        return await self._put(former, actor, if_match, "rollback")

    async def _create(self, model: type[M], raw: Raw, actor: str) -> Stored[M]:
        entity = await _parsed(model, raw, None)
        return await self._write(lambda draft: edits.create(draft, entity.name, entity), actor=actor)

    async def _put(
        self, entity: M, actor: str, if_match: int | None, action: Action | None = None
    ) -> Written[M]:
        def command(draft: Draft) -> Written[M]:
            return edits.put(draft, entity.name, entity, if_match=if_match, action=action)

        return await self._write(command, actor=actor)

    async def _delete(self, kind: Kind, name: str, actor: str, if_match: int | None) -> None:
        await self._write(lambda draft: edits.delete(draft, kind, name, if_match=if_match), actor=actor)


async def _parsed(model: type[M], raw: Raw, name: str | None) -> M:
    return await asyncio.to_thread(parse_named, model, raw, name)


def _found(kind: Kind, name: str, known: Mapping[str, Stored[M]]) -> Stored[M]:
    stored = known.get(name)
    if stored is None:
        raise NotFound(kind, name, known)
    return stored


def _listed(known: Mapping[str, Stored[M]], limit: int, cursor: str | None) -> Page[Stored[M]]:
    items = tuple(known.values())
    return page(items, lambda stored: stored.entity.name, limit=limit, cursor=cursor, by_name=True)
