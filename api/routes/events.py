"""`/events`: revisions, nodes and the progress of fleets, as they happen."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from api.deps import Wired
from api.documented import Responses, problems
from api.events import Event
from api.parts import Parts
from api.problems import Malformed
from api.views import node_view, progress_view, revision_view
from brownout.service import Service

router = APIRouter(prefix="/events", tags=["operations"])

_CATCH_UP = 1000
"""How many missed revisions a reader that comes back is told at most."""

_STREAM: Responses = {
    200: {
        "description": "`hello`, then `revision`, `node` and `fleet` events, each with JSON data.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("", summary="Follow", responses={**_STREAM, **problems(400, 404, 422)})
async def follow(
    parts: Wired,
    fleet: Annotated[str | None, Query(description="Only what concerns this fleet.")] = None,
    last_event_id: Annotated[str | None, Header(description="Read on after this revision.")] = None,
) -> Response:
    """Server-sent events without end; a reader that comes back with `Last-Event-ID` misses no revision."""
    if fleet is not None:
        parts.service.get_fleet(fleet)
    seen = parts.service.catalog.revision
    if last_event_id is not None:
        seen = min(seen, _number(last_event_id))  # a store may have been restored from before that
    return parts.streams.respond(lambda: _revisions(parts, fleet, seen), lambda: _nodes(parts, fleet))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise Malformed("Last-Event-ID is not readable", [("Last-Event-ID", "expected a revision's number")])
    return int(text)


async def _revisions(parts: Parts, fleet: str | None, seen: int) -> AsyncIterator[Event]:
    yield Event("hello", {"revision": parts.service.catalog.revision})
    halts: frozenset[str] | None = None
    async for catalog in parts.catalogs.subscribe():
        if catalog.revision > seen:
            for revision in await _since(parts.service, seen):
                if fleet is None or _concerns(fleet, revision):
                    yield Event("revision", revision, id=revision["number"])
                seen = max(seen, revision["number"])
        elif catalog.halts == halts:
            continue
        halts = catalog.halts  # a halt is in force before it is recorded
        for name in catalog.fleets if fleet is None else {fleet} & catalog.fleets.keys():
            yield Event("fleet", progress_view(catalog, parts.status, name))


async def _since(service: Service, seen: int) -> list[dict[str, Any]]:
    """The revisions after `seen`, oldest first; of very many, the newest."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(found) < _CATCH_UP:
        page = await service.list_revisions(limit=100, cursor=cursor)
        found += [revision_view(each) for each in page.items if each.number > seen]
        if page.next is None or not page.items or page.items[-1].number <= seen + 1:
            break
        cursor = page.next
    return found[::-1]


def _concerns(fleet: str, revision: dict[str, Any]) -> bool:
    """Whether a revision may change what the fleet's Envoys get (a profile may, whoever uses it)."""
    if revision["kind"] in {"profile", "upstream"}:
        return True
    return revision["key"].partition("/")[0] in {fleet, "*"}


async def _nodes(parts: Parts, fleet: str | None) -> AsyncIterator[Event]:
    async for event in parts.status.events():
        if fleet is not None and event.node.fleet != fleet:
            continue
        yield Event("node", {"kind": event.kind, "node": node_view(event.node)})
        catalog = parts.service.catalog
        if event.node.fleet in catalog.fleets:
            yield Event("fleet", progress_view(catalog, parts.status, event.node.fleet))
