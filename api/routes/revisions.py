"""`/revisions`: the audit trail."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from api.answers import show
from api.deps import Core, Paged
from api.documented import problems, shows
from api.schemas.revision import RevisionList
from api.views import revision_view

router = APIRouter(prefix="/revisions", tags=["revisions"])


@router.get(
    "",
    summary="List revisions",
    responses={**shows(RevisionList, "The newest first.", etag=False), **problems(422)},
)
async def list_revisions(
    core: Core,
    page: Paged,
    fleet: Annotated[str | None, Query(description="Only what concerns this fleet.")] = None,
) -> Response:
    """Every change that was ever committed: who, when, what, before and after."""
    found = await core.list_revisions(fleet=fleet, limit=page.limit, cursor=page.cursor)
    return show({"items": [revision_view(each) for each in found.items], "next": found.next})
