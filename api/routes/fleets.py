"""`/fleets`: the Envoys that share a configuration, and their history."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import gone, place, show, show_unless_known, written
from api.deps import Actor, Body, Cached, Core, FleetName, JsonBody, Paged, Write
from api.documented import CREATES, DELETED, UNCHANGED, WRITES, problems, shows, takes
from api.requests import rollback_target
from api.schemas.configuration import Plan
from api.schemas.fleet import Fleet, FleetList, FleetUpdate
from api.schemas.profile import Rollback
from api.schemas.revision import RevisionList
from api.views import plan_view, revision_view
from brownout.domain import NotFound

router = APIRouter(prefix="/fleets", tags=["fleets"])


@router.get(
    "", summary="List fleets", responses={**shows(FleetList, "By name.", etag=False), **problems(422)}
)
async def list_fleets(core: Core, page: Paged) -> Response:
    """All fleets, sorted by name, in pages."""
    found = core.list_fleets(limit=page.limit, cursor=page.cursor)
    return show({"items": [each.entity.document() for each in found.items], "next": found.next})


@router.post(
    "",
    summary="Create a fleet",
    status_code=201,
    responses={**shows(Fleet, "Created.", status=201), **problems(*CREATES)},
    openapi_extra=takes(Fleet, yaml=True),
)
async def create_fleet(core: Core, body: Body, actor: Actor) -> Response:
    """A new fleet without endpoints; 409 when the name is taken."""
    stored = await core.create_fleet(body, actor=actor)
    return show(
        stored.entity.document(),
        revision=stored.revision,
        status=201,
        location=place("fleets", stored.entity.name),
    )


@router.get(
    "/{fleet}",
    summary="Show a fleet",
    responses={**shows(Fleet, "The fleet."), **UNCHANGED, **problems(404)},
)
async def get_fleet(core: Core, fleet: FleetName, cached: Cached) -> Response:
    """The fleet without its endpoints."""
    stored = core.get_fleet(fleet)
    return show_unless_known(stored.entity.document(), stored.revision, cached)


@router.put(
    "/{fleet}",
    summary="Create or replace a fleet",
    responses={
        **shows(Fleet, "Replaced, or the same already."),
        **shows(Fleet, "Created.", status=201),
        **problems(*WRITES),
    },
    openapi_extra=takes(FleetUpdate, yaml=True),
)
async def put_fleet(core: Core, fleet: FleetName, body: Body, write: Write) -> Response:
    """Its endpoints stay; `mode` cannot be changed."""
    guard = write.conditions.guard(f"fleet {fleet!r}", core.catalog.fleets.get(fleet))
    outcome = await core.put_fleet(fleet, body, actor=write.actor, if_match=guard)
    return written(
        outcome.stored.entity.document(),
        revision=outcome.stored.revision,
        created=outcome.created,
        location=place("fleets", fleet),
    )


@router.delete(
    "/{fleet}",
    summary="Delete a fleet",
    status_code=204,
    responses={**DELETED, **problems(404, 409, 412, 503)},
)
async def delete_fleet(core: Core, fleet: FleetName, write: Write) -> Response:
    """The fleet with its endpoints; its Envoys keep what they have."""
    guard = write.conditions.guard(f"fleet {fleet!r}", core.catalog.fleets.get(fleet))
    await core.delete_fleet(fleet, actor=write.actor, if_match=guard)
    return gone()


@router.get(
    "/{fleet}/revisions",
    summary="A fleet's history",
    responses={**shows(RevisionList, "The newest first.", etag=False), **problems(404, 422)},
)
async def list_fleet_revisions(core: Core, fleet: FleetName, page: Paged) -> Response:
    """Every change of the fleet, its endpoints, their order and its halts."""
    found = await core.list_revisions(fleet=fleet, limit=page.limit, cursor=page.cursor)
    if not found.items and page.cursor is None:
        raise NotFound("fleet", fleet, core.catalog.fleets)
    return show({"items": [revision_view(each) for each in found.items], "next": found.next})


@router.post(
    "/{fleet}/rollback",
    summary="Return to a former content",
    responses={**shows(Plan, "What was changed.", etag=False), **problems(*WRITES, 404)},
    openapi_extra=takes(Rollback),
)
async def rollback_fleet(core: Core, fleet: FleetName, body: JsonBody, write: Write) -> Response:
    """Make the fleet and its endpoints what they were at a revision, in one transaction."""
    guard = write.conditions.guard(f"fleet {fleet!r}", core.catalog.fleets.get(fleet))
    plan = await core.rollback_fleet(fleet, rollback_target(body), actor=write.actor, if_match=guard)
    return show(plan_view(plan))
