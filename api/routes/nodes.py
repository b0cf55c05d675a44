"""`/nodes`: the Envoys, and how far they are."""

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import show
from api.deps import Core, FleetName, Paged, Status
from api.documented import problems, shows
from api.paging import Page
from api.schemas.node import FleetNodes, NodeList
from api.views import node_view, progress_view
from brownout.ports import FleetStatus

router = APIRouter(tags=["nodes"])


def _nodes(status: FleetStatus, fleet: str | None, page: Page) -> dict[str, object]:
    # Tab sorts before every character of a name, so the key's order is (fleet, id).
    nodes = sorted(status.nodes(fleet), key=lambda node: f"{node.fleet}\t{node.id}")
    found, following = page.of_sorted(nodes, lambda node: f"{node.fleet}\t{node.id}")
    return {"items": [node_view(node) for node in found], "next": following}


@router.get(
    "/nodes",
    summary="List nodes",
    responses={**shows(NodeList, "By fleet and id.", etag=False), **problems(422)},
)
async def list_nodes(status: Status, page: Paged) -> Response:
    """Every connected Envoy, and for a while those that were."""
    return show(_nodes(status, None, page))


@router.get(
    "/fleets/{fleet}/nodes",
    summary="A fleet's nodes",
    responses={**shows(FleetNodes, "By id.", etag=False), **problems(404, 422)},
)
async def list_fleet_nodes(core: Core, status: Status, fleet: FleetName, page: Paged) -> Response:
    """The fleet's Envoys, and whether they have converged."""
    core.get_fleet(fleet)
    return show({**progress_view(core.catalog, status, fleet), **_nodes(status, fleet, page)})
