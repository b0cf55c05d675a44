"""The uses of a fleet's endpoints and their faults."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from brownout.domain import (
    Draft,
    Endpoint,
    FieldError,
    NotFound,
    Raw,
    StaleRevision,
    Stored,
    ValidationFailed,
    settled,
)
from brownout.service import edits
from brownout.service.core import Core
from brownout.service.paging import DEFAULT_LIMIT, page
from brownout.service.parsing import parse_endpoint, parse_fault
from brownout.service.results import Page, Written


class Endpoints(Core):
    """List, get, create, replace, delete, order; bind a fault."""

    def get_endpoint(self, fleet: str, name: str) -> Stored[Endpoint]:
        """Return an endpoint."""
        known = self._endpoints(fleet)
        stored = next((each for each in known if each.entity.name == name), None)
        if stored is None:
            raise NotFound("endpoint", f"{fleet}/{name}", [f"{fleet}/{each.entity.name}" for each in known])
        return stored

    def list_endpoints(
        self, fleet: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[Stored[Endpoint]]:
        """Return a page of the endpoints in the fleet's order."""
        items = self._endpoints(fleet)
        return page(items, lambda stored: stored.entity.name, limit=limit, cursor=cursor, by_name=False)

    async def create_endpoint(self, fleet: str, raw: Raw, *, actor: str) -> Stored[Endpoint]:
        """Append an endpoint to the list; Conflict when the name is taken."""
        endpoint = await asyncio.to_thread(parse_endpoint, raw, None, self._clock())

        def command(draft: Draft) -> Stored[Endpoint]:
            return edits.create(draft, f"{fleet}/{endpoint.name}", _settled(draft, fleet, endpoint))

        return await self._write(command, actor=actor)

    async def put_endpoint(
        self, fleet: str, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Replace an endpoint in its place, or append it."""
        endpoint = await asyncio.to_thread(parse_endpoint, raw, name, self._clock())

        def command(draft: Draft) -> Written[Endpoint]:
            return edits.put(draft, f"{fleet}/{name}", _settled(draft, fleet, endpoint), if_match=if_match)

        return await self._write(command, actor=actor)

    async def delete_endpoint(
        self, fleet: str, name: str, *, actor: str, if_match: int | None = None
    ) -> None:
        """Delete an endpoint with its fault."""
        key = f"{fleet}/{name}"

        def command(draft: Draft) -> None:
            if ("endpoint", key) not in draft.damaged:  # such a one may be of a fleet that is not there
                edits.fleet_of(draft, fleet)
            edits.delete(draft, "endpoint", key, if_match=if_match)

        await self._write(command, actor=actor)

    async def put_order(
        self, fleet: str, names: Sequence[str], *, actor: str, if_match: int | None = None
    ) -> tuple[Stored[Endpoint], ...]:
        """Put the endpoints in this order, which names each exactly once.

        `if_match` is the revision of the list: `catalog.lists[fleet].revision`.
        """

        def command(draft: Draft) -> tuple[Stored[Endpoint], ...]:
            edits.fleet_of(draft, fleet)
            revision = draft.catalog.lists[fleet].revision
            if if_match is not None and if_match != revision:
                raise StaleRevision(f"the list of endpoints of fleet {fleet!r}", if_match, revision)
            _check_order(names, list(draft.endpoints(fleet)))
            draft.order(fleet, names)
            return draft.catalog.endpoints(fleet)

        return await self._write(command, actor=actor)

    async def put_fault(
        self, fleet: str, endpoint: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Bind a fault, in which `for` may stand for `expires_at`.

        `if_match` and the result are the endpoint's; `created` says that it had no fault.
        """
        fault = await asyncio.to_thread(parse_fault, raw, self._clock())

        def command(draft: Draft) -> Written[Endpoint]:
            present = _endpoint(draft, fleet, endpoint)
            wanted = present.model_copy(update={"fault": fault})
            written = edits.put(
                draft,
                f"{fleet}/{endpoint}",
                _settled(draft, fleet, wanted, within="fault"),
                if_match=if_match,
            )
            return Written(written.stored, created=present.fault is None, changed=written.changed)

        return await self._write(command, actor=actor)

    async def delete_fault(
        self, fleet: str, endpoint: str, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Remove a fault; NotFound when there is none."""

        def command(draft: Draft) -> Written[Endpoint]:
            key = f"{fleet}/{endpoint}"
            present = _endpoint(draft, fleet, endpoint)
            # A fault that is damaged is not in the entity, and can be removed all the same.
            if present.fault is None and ("endpoint", key) not in draft.damaged:
                raise NotFound("fault of endpoint", key)
            return edits.put(draft, key, present.model_copy(update={"fault": None}), if_match=if_match)

        return await self._write(command, actor=actor)

    def _endpoints(self, fleet: str) -> tuple[Stored[Endpoint], ...]:
        if fleet not in self.catalog.fleets:
            raise NotFound("fleet", fleet, self.catalog.fleets)
        return self.catalog.endpoints(fleet)


def _settled(draft: Draft, fleet: str, endpoint: Endpoint, *, within: str = "") -> Endpoint:
    """Return the endpoint as it stands in the fleet; `within` is the part of it that the caller wrote."""
    profiles, upstreams = draft.names("profile"), draft.names("upstream")
    try:
        return settled(endpoint, edits.fleet_of(draft, fleet), profiles=profiles, upstreams=upstreams)
    except ValidationFailed as failed:
        if not within:
            raise
        raise ValidationFailed(
            FieldError(each.path.removeprefix(f"{within}."), each.message) for each in failed.errors
        ) from None


def _endpoint(draft: Draft, fleet: str, name: str) -> Endpoint:
    edits.fleet_of(draft, fleet)
    known = draft.endpoints(fleet)
    stored = known.get(name)
    if stored is None:
        raise NotFound("endpoint", f"{fleet}/{name}", [f"{fleet}/{each}" for each in known])
    return stored.entity


def _check_order(names: Sequence[str], present: Sequence[str]) -> None:
    wanted, known = Counter(names), Counter(present)
    errors = [
        FieldError(f"[{index}]", f"there is no endpoint {name!r}")
        for index, name in enumerate(names)
        if name not in known
    ]
    errors += [
        FieldError("", f"{name!r} stands there {count} times") for name, count in wanted.items() if count > 1
    ]
    missing = [name for name in present if name not in wanted]
    if missing:
        errors.append(FieldError("", f"every endpoint is expected once, missing: {', '.join(missing)}"))
    if errors:
        raise ValidationFailed(errors)
