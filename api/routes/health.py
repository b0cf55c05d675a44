"""`/healthz`, `/readyz`, `/metrics`: for those who run it."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from api.answers import show
from api.deps import Wired
from api.documented import Responses, problems, shows
from api.problems import Unavailable
from api.schemas.operations import Health, Readiness

router = APIRouter(tags=["operations"])

_METRICS: Responses = {
    200: {
        "description": "Prometheus' text format.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/healthz", summary="Is it alive", responses={**shows(Health, "It answers.", etag=False), **problems()}
)
async def healthz() -> Response:
    """The process answers; a supervisor restarts it when it does not."""
    return show({"status": "ok"})


@router.get(
    "/readyz",
    summary="Does it serve",
    responses={**shows(Readiness, "It serves.", etag=False), **problems(503)},
)
async def readyz(parts: Wired) -> Response:
    """Whether REST and the Envoys are served; 503 names what is missing."""
    checks = dict(parts.ready())
    failing = [name for name, ready in checks.items() if not ready]
    if failing:
        raise Unavailable(f"not ready: {', '.join(failing)}", [(name, "not ready") for name in failing])
    return show({"status": "ready", "checks": checks})


@router.get("/metrics", summary="Metrics", responses={**_METRICS, **problems()})
async def metrics(parts: Wired) -> Response:
    """What the control plane counts."""
    return Response(generate_latest(parts.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
