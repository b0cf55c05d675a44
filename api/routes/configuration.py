"""`/config`: everything at once, in one transaction."""

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import show, show_unless_known
from api.bodies import JSON, YAML
from api.deps import Actor, Cached, ConfigurationBody, Core, Prune
from api.documented import ETAG, UNCHANGED, Responses, problems, shows, takes
from api.preconditions import etag
from api.schemas.base import ref
from api.schemas.configuration import Configuration, Plan
from api.views import plan_view
from api.writing import prefers_json, to_yaml

router = APIRouter(prefix="/config", tags=["configuration"])

_EXPORT: Responses = {
    200: {
        "description": "The whole configuration; YAML unless `Accept` prefers JSON.",
        "content": {media_type: {"schema": ref(Configuration)} for media_type in (YAML, JSON)},
        "headers": ETAG,
    }
}


@router.get("", summary="Export", responses={**_EXPORT, **UNCHANGED, **problems()})
async def export(request: Request, core: Core, cached: Cached) -> Response:
    """Applying it to where it came from changes nothing."""
    revision, content = core.catalog.revision, core.export()
    if prefers_json(request.headers.get("accept", "")) or cached.unchanged(revision):
        return show_unless_known(content, revision, cached)
    return Response(await asyncio.to_thread(to_yaml, content), 200, {"ETag": etag(revision)}, YAML)


@router.post(
    "/plan",
    summary="Plan",
    responses={**shows(Plan, "What an apply would do.", etag=False), **problems(400, 413, 415, 422)},
    openapi_extra=takes(Configuration, yaml=True),
)
async def plan(core: Core, body: ConfigurationBody, *, prune: Prune = False) -> Response:
    """Compare a configuration with what is there; nothing is changed."""
    return show(plan_view(await core.plan(body, prune=prune)))


@router.post(
    "/apply",
    summary="Apply",
    responses={**shows(Plan, "What was done.", etag=False), **problems(400, 409, 413, 415, 422, 503)},
    openapi_extra=takes(Configuration, yaml=True),
)
async def apply(core: Core, body: ConfigurationBody, actor: Actor, *, prune: Prune = False) -> Response:
    """All of it or nothing; doing it again changes nothing. Deletes only with `prune`."""
    return show(plan_view(await core.apply(body, actor=actor, prune=prune)))
