"""`/halt` and `/resume`: the kill switch, for one fleet or all."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import show
from api.deps import Actor, Core, FleetName
from api.documented import problems, shows
from api.schemas.operations import Halted
from brownout.service import Halted as Outcome

router = APIRouter(tags=["operations"])

_RESPONSES = {**shows(Halted, "The state now.", etag=False), **problems(404, 409)}


def _show(outcome: Outcome) -> Response:
    return show(
        {
            "key": outcome.key,
            "halted": outcome.halted,
            "revision": outcome.revision,
            "problem": outcome.problem,
        },
        revision=outcome.revision,
    )


@router.post("/halt", summary="Halt every fleet", responses=_RESPONSES)
async def halt_all(core: Core, actor: Actor) -> Response:
    """Nothing is injected any more, held responses are released; routing goes on."""
    return _show(await core.halt(None, actor=actor))


@router.post("/resume", summary="End the halt of all fleets", responses=_RESPONSES)
async def resume_all(core: Core, actor: Actor) -> Response:
    """Fleets that were halted by name stay halted."""
    return _show(await core.resume(None, actor=actor))


@router.post("/fleets/{fleet}/halt", summary="Halt a fleet", responses=_RESPONSES)
async def halt_fleet(core: Core, fleet: FleetName, actor: Actor) -> Response:
    """It works, and says what it could not record, also when the store cannot be written."""
    return _show(await core.halt(fleet, actor=actor))


@router.post("/fleets/{fleet}/resume", summary="End a fleet's halt", responses=_RESPONSES)
async def resume_fleet(core: Core, fleet: FleetName, actor: Actor) -> Response:
    """409 while all fleets are halted."""
    return _show(await core.resume(fleet, actor=actor))
