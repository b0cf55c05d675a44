"""`…/endpoints/{name}/fault`: the daily act."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import gone, place, show_unless_known, written
from api.deps import Body, Cached, Core, EndpointName, FleetName, Write
from api.documented import DELETED, UNCHANGED, WRITES, problems, shows, takes
from api.preconditions import ANY, Preconditions
from api.problems import Missing
from api.schemas.endpoint import Fault, FaultUpdate
from brownout.domain import Endpoint, Stored

router = APIRouter(prefix="/fleets/{fleet}/endpoints/{name}/fault", tags=["faults"])


def _fault(fleet: str, stored: Stored[Endpoint]) -> dict[str, object]:
    if stored.entity.fault is None:
        raise Missing(f"endpoint {fleet}/{stored.entity.name} has no fault")
    return stored.entity.fault.document()


@router.get(
    "",
    summary="Show a fault",
    responses={**shows(Fault, "The fault; the tag is the endpoint's."), **UNCHANGED, **problems(404)},
)
async def get_fault(core: Core, fleet: FleetName, name: EndpointName, cached: Cached) -> Response:
    """What the endpoint injects."""
    stored = core.get_endpoint(fleet, name)
    return show_unless_known(_fault(fleet, stored), stored.revision, cached)


@router.put(
    "",
    summary="Set a fault",
    responses={
        **shows(Fault, "Replaced, or the same already; the tag is the endpoint's."),
        **shows(Fault, "Set where there was none.", status=201),
        **problems(*WRITES, 404),
    },
    openapi_extra=takes(FaultUpdate, yaml=True),
)
async def put_fault(core: Core, fleet: FleetName, name: EndpointName, body: Body, write: Write) -> Response:
    """Bind a profile to the endpoint: `{"profile": "slow", "percent": 20, "for": "10m"}`."""
    stored = core.get_endpoint(fleet, name)
    conditions = write.conditions
    if stored.entity.fault is None and conditions.if_none_match is not None:
        # There is no fault, as was asked; the endpoint must stay as it is until the commit.
        conditions = Preconditions(if_match=conditions.if_match or ANY)
    guard = conditions.guard(f"endpoint {fleet}/{name}", stored)
    outcome = await core.put_fault(fleet, name, body, actor=write.actor, if_match=guard)
    return written(
        _fault(fleet, outcome.stored),
        revision=outcome.stored.revision,
        created=outcome.created,
        location=place("fleets", fleet, "endpoints", name, "fault"),
    )


@router.delete(
    "",
    summary="Clear a fault",
    status_code=204,
    responses={**DELETED, **problems(404, 412, 503)},
)
async def delete_fault(core: Core, fleet: FleetName, name: EndpointName, write: Write) -> Response:
    """The endpoint answers as its upstream does again."""
    guard = write.conditions.guard(f"endpoint {fleet}/{name}", core.catalog.endpoint(fleet, name))
    await core.delete_fault(fleet, name, actor=write.actor, if_match=guard)
    return gone()
