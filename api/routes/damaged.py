"""`/damaged`: what the store has and cannot be delivered."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import show
from api.deps import Core, Paged
from api.documented import problems, shows
from api.schemas.damage import DamageList
from api.views import damage_view
from brownout.domain import Damage

router = APIRouter(prefix="/damaged", tags=["operations"])


def _key(damage: Damage) -> str:
    # Tab sorts before every character of a name, so the key's order is (kind, key).
    return f"{damage.kind}\t{damage.key}"


@router.get(
    "",
    summary="List what is damaged",
    responses={**shows(DamageList, "By kind and key.", etag=False), **problems(422)},
)
async def list_damaged(core: Core, page: Paged) -> Response:
    """Rows that somebody edited by hand, and what refers to them; replace or delete them like any other."""
    found, following = page.of_sorted(sorted(core.catalog.damaged.values(), key=_key), _key)
    return show({"items": [damage_view(each) for each in found], "next": following})
