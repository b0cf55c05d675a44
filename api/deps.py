"""What routes ask for: one `Annotated` alias each, all in this place."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query
from starlette.requests import Request

from api.bodies import MAX_CONFIGURATION, read_document
from api.paging import Page
from api.parts import Parts
from api.preconditions import Preconditions
from brownout.ports import FleetStatus
from brownout.service import DEFAULT_LIMIT, MAX_LIMIT, Service


@dataclass(frozen=True, slots=True)
class Writing:
    """A change that is asked for: who asks, and what must hold."""

    actor: str
    conditions: Preconditions


LOCAL_ACTOR = "local"
"""Who writes when no credentials are asked for."""


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


async def _wired(request: Request) -> Parts:
    return _parts(request)


async def _service(request: Request) -> Service:
    return _parts(request).service


async def _status(request: Request) -> FleetStatus:
    return _parts(request).status


async def _actor() -> str:
    return LOCAL_ACTOR


async def _json(request: Request) -> Any:
    return await read_document(request, yaml=False)


async def _yaml(request: Request) -> Any:
    return await read_document(request, yaml=True)


async def _configuration(request: Request) -> Any:
    return await read_document(request, yaml=True, limit=MAX_CONFIGURATION)


async def _preconditions(
    if_match: Annotated[
        str | None,
        Header(description='Only when it is still at this revision: `"17"`; `*`: only when it exists.'),
    ] = None,
    if_none_match: Annotated[str | None, Header(description="`*`: only when it does not exist yet.")] = None,
) -> Preconditions:
    return Preconditions.read(if_match, if_none_match)


async def _writing(
    actor: Annotated[str, Depends(_actor)],
    conditions: Annotated[Preconditions, Depends(_preconditions)],
) -> Writing:
    return Writing(actor, conditions)


async def _cached(
    if_none_match: Annotated[str | None, Header(description="304 when it is still at this revision.")] = None,
) -> Preconditions:
    return Preconditions.read(None, if_none_match)


async def _page(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items at most.")] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(description="`next` of the page before.")] = None,
) -> Page:
    return Page(limit, cursor)


Core = Annotated[Service, Depends(_service)]
"""The service layer."""

Status = Annotated[FleetStatus, Depends(_status)]
"""What the control plane knows of the Envoys."""

Wired = Annotated[Parts, Depends(_wired)]
"""Everything that the composition root wired."""

Actor = Annotated[str, Depends(_actor)]
"""Who writes, for the audit trail."""

JsonBody = Annotated[Any, Depends(_json)]
"""The parsed body, JSON only."""

Body = Annotated[Any, Depends(_yaml)]
"""The parsed body, JSON or YAML."""

ConfigurationBody = Annotated[Any, Depends(_configuration)]
"""The parsed body, JSON or YAML, of a whole configuration's size."""

Write = Annotated[Writing, Depends(_writing)]
"""Who changes something, on what conditions."""

Cached = Annotated[Preconditions, Depends(_cached)]
"""What a reader has already."""

Paged = Annotated[Page, Depends(_page)]
"""Which part of a list."""

ProfileName = Annotated[str, Path(alias="name", description="Name of the profile.")]
UpstreamName = Annotated[str, Path(alias="name", description="Name of the upstream.")]
FleetName = Annotated[str, Path(alias="fleet", description="Name of the fleet.")]
EndpointName = Annotated[str, Path(alias="name", description="Name of the endpoint.")]
Prune = Annotated[bool, Query(description="Also delete what the configuration does not name.")]
