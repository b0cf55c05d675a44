"""`/fleets/{fleet}/endpoints`: the ordered list of a fleet's endpoints."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import gone, place, show, show_unless_known, written
from api.deps import Actor, Body, Cached, Core, EndpointName, FleetName, JsonBody, Paged, Write
from api.documented import CREATES, DELETED, UNCHANGED, WRITES, problems, shows, takes
from api.requests import wanted_order
from api.schemas.endpoint import Endpoint, EndpointCreate, EndpointList, EndpointsOrder, EndpointUpdate

router = APIRouter(prefix="/fleets/{fleet}", tags=["endpoints"])


@router.get(
    "/endpoints",
    summary="List endpoints",
    responses={
        **shows(EndpointList, "In the order in which they are tried; the tag is the whole list's."),
        **problems(404, 422),
    },
)
async def list_endpoints(core: Core, fleet: FleetName, page: Paged) -> Response:
    """The first that matches a request wins."""
    found = core.list_endpoints(fleet, limit=page.limit, cursor=page.cursor)
    content = {"items": [each.entity.document() for each in found.items], "next": found.next}
    return show(content, revision=core.catalog.lists[fleet].revision)


@router.post(
    "/endpoints",
    summary="Create an endpoint",
    status_code=201,
    responses={**shows(Endpoint, "Created.", status=201), **problems(*CREATES, 404)},
    openapi_extra=takes(EndpointCreate, yaml=True),
)
async def create_endpoint(core: Core, fleet: FleetName, body: Body, actor: Actor) -> Response:
    """A new endpoint, the last of the list; 409 when the name is taken."""
    stored = await core.create_endpoint(fleet, body, actor=actor)
    return show(
        stored.entity.document(),
        revision=stored.revision,
        status=201,
        location=place("fleets", fleet, "endpoints", stored.entity.name),
    )


@router.get(
    "/endpoints/{name}",
    summary="Show an endpoint",
    responses={**shows(Endpoint, "The endpoint with its fault."), **UNCHANGED, **problems(404)},
)
async def get_endpoint(core: Core, fleet: FleetName, name: EndpointName, cached: Cached) -> Response:
    """The endpoint, every field written out."""
    stored = core.get_endpoint(fleet, name)
    return show_unless_known(stored.entity.document(), stored.revision, cached)


@router.put(
    "/endpoints/{name}",
    summary="Create or replace an endpoint",
    responses={
        **shows(Endpoint, "Replaced, or the same already."),
        **shows(Endpoint, "Created.", status=201),
        **problems(*WRITES, 404),
    },
    openapi_extra=takes(EndpointUpdate, yaml=True),
)
async def put_endpoint(
    core: Core, fleet: FleetName, name: EndpointName, body: Body, write: Write
) -> Response:
    """In its place, or as the last. A fault that the body leaves out is removed."""
    guard = write.conditions.guard(f"endpoint {fleet}/{name}", core.catalog.endpoint(fleet, name))
    outcome = await core.put_endpoint(fleet, name, body, actor=write.actor, if_match=guard)
    return written(
        outcome.stored.entity.document(),
        revision=outcome.stored.revision,
        created=outcome.created,
        location=place("fleets", fleet, "endpoints", name),
    )


@router.delete(
    "/endpoints/{name}",
    summary="Delete an endpoint",
    status_code=204,
    responses={**DELETED, **problems(404, 412, 503)},
)
async def delete_endpoint(core: Core, fleet: FleetName, name: EndpointName, write: Write) -> Response:
    """The endpoint and its fault."""
    guard = write.conditions.guard(f"endpoint {fleet}/{name}", core.catalog.endpoint(fleet, name))
    await core.delete_endpoint(fleet, name, actor=write.actor, if_match=guard)
    return gone()


@router.put(
    "/endpoints-order",
    summary="Order the endpoints",
    responses={**shows(EndpointsOrder, "The order now; the tag is the list's."), **problems(*WRITES, 404)},
    openapi_extra=takes(EndpointsOrder),
)
async def put_order(core: Core, fleet: FleetName, body: JsonBody, write: Write) -> Response:
    """`If-Match` takes the tag of the list of endpoints; the body may also be the bare list of names."""
    core.get_fleet(fleet)
    guard = write.conditions.guard(f"the list of endpoints of {fleet!r}", core.catalog.lists[fleet])
    order = wanted_order(body)
    with order.located():
        ordered = await core.put_order(fleet, order.names, actor=write.actor, if_match=guard)
    content = {"endpoints": [each.entity.name for each in ordered]}
    return show(content, revision=core.catalog.lists[fleet].revision)
