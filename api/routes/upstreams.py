"""`/upstreams`: real backends."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import gone, place, show, show_unless_known, written
from api.deps import Actor, Body, Cached, Core, Paged, UpstreamName, Write
from api.documented import CREATES, DELETED, UNCHANGED, WRITES, problems, shows, takes
from api.schemas.upstream import Upstream, UpstreamList, UpstreamUpdate

router = APIRouter(prefix="/upstreams", tags=["upstreams"])


@router.get(
    "", summary="List upstreams", responses={**shows(UpstreamList, "By name.", etag=False), **problems(422)}
)
async def list_upstreams(core: Core, page: Paged) -> Response:
    """All upstreams, sorted by name, in pages."""
    found = core.list_upstreams(limit=page.limit, cursor=page.cursor)
    return show({"items": [each.entity.document() for each in found.items], "next": found.next})


@router.post(
    "",
    summary="Create an upstream",
    status_code=201,
    responses={**shows(Upstream, "Created.", status=201), **problems(*CREATES)},
    openapi_extra=takes(Upstream, yaml=True),
)
async def create_upstream(core: Core, body: Body, actor: Actor) -> Response:
    """A new upstream; 409 when the name is taken."""
    stored = await core.create_upstream(body, actor=actor)
    return show(
        stored.entity.document(),
        revision=stored.revision,
        status=201,
        location=place("upstreams", stored.entity.name),
    )


@router.get(
    "/{name}",
    summary="Show an upstream",
    responses={**shows(Upstream, "The upstream."), **UNCHANGED, **problems(404)},
)
async def get_upstream(core: Core, name: UpstreamName, cached: Cached) -> Response:
    """The upstream, every field written out."""
    stored = core.get_upstream(name)
    return show_unless_known(stored.entity.document(), stored.revision, cached)


@router.put(
    "/{name}",
    summary="Create or replace an upstream",
    responses={
        **shows(Upstream, "Replaced, or the same already."),
        **shows(Upstream, "Created.", status=201),
        **problems(*WRITES),
    },
    openapi_extra=takes(UpstreamUpdate, yaml=True),
)
async def put_upstream(core: Core, name: UpstreamName, body: Body, write: Write) -> Response:
    """Fields that are left out get their defaults."""
    guard = write.conditions.guard(f"upstream {name!r}", core.catalog.upstreams.get(name))
    outcome = await core.put_upstream(name, body, actor=write.actor, if_match=guard)
    return written(
        outcome.stored.entity.document(),
        revision=outcome.stored.revision,
        created=outcome.created,
        location=place("upstreams", name),
    )


@router.delete(
    "/{name}",
    summary="Delete an upstream",
    status_code=204,
    responses={**DELETED, **problems(404, 409, 412, 503)},
)
async def delete_upstream(core: Core, name: UpstreamName, write: Write) -> Response:
    """409 while an endpoint uses it; `errors` names the endpoints."""
    guard = write.conditions.guard(f"upstream {name!r}", core.catalog.upstreams.get(name))
    await core.delete_upstream(name, actor=write.actor, if_match=guard)
    return gone()
