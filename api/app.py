"""The application: routes, errors and guards put together."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from prometheus_client import CollectorRegistry
from starlette.requests import Request

from api.answers import PREFIX
from api.errors import install
from api.events import EventStreams
from api.failures import AnswersFailures
from api.head import AnswersHead
from api.hosts import LoopbackOnly
from api.openapi import document
from api.operations import Operations
from api.parts import Catalogs, Parts
from api.routes import (
    configuration,
    damaged,
    endpoints,
    events,
    faults,
    fleets,
    halts,
    health,
    nodes,
    profiles,
    revisions,
    upstreams,
)
from brownout.ports import FleetStatus
from brownout.service import Service

_RESOURCES = (
    profiles,
    upstreams,
    fleets,
    endpoints,
    faults,
    configuration,
    halts,
    nodes,
    revisions,
    damaged,
    events,
)


class Api(FastAPI):
    """The REST application."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, made once; those that answer 404 and 405 know from it what routes exist."""
        if not self.openapi_schema:
            self.openapi_schema = document(self)
        return self.openapi_schema

    @property
    def streams(self) -> EventStreams:
        """The open event streams: end them before the server is asked to stop."""
        parts: Parts = self.state.parts
        return parts.streams


def create_app(  # noqa: PLR0913 (the composition root names each part)
    service: Service,
    status: FleetStatus,
    catalogs: Catalogs,
    *,
    registry: CollectorRegistry,
    version: str,
    ready: Callable[[], Mapping[str, bool]] = dict,
    loopback_only: bool = True,
) -> Api:
    """Build the REST application.

    Args:
        service: every use of the configuration.
        status: what the control plane knows of the Envoys.
        catalogs: the change feed.
        registry: what `/metrics` shows.
        version: Brownout's version, for the OpenAPI document.
        ready: named checks of `/readyz`.
        loopback_only: refuse requests that do not name this machine by a loopback name (`api.hosts`).
    """
    app = Api(
        title="Brownout",
        summary="Makes an Envoy fleet behave like the production systems behind it",
        version=version,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.parts = Parts(service, status, catalogs, registry, ready, EventStreams())

    async def check_query(request: Request) -> None:
        names = [name for name, _ in request.query_params.multi_items()]
        operations.check_query(request.method, request.url.path, names)

    checked = [Depends(check_query)]
    versioned = APIRouter(prefix=PREFIX, dependencies=checked)
    for module in (*_RESOURCES, health):
        versioned.include_router(module.router)
    app.include_router(versioned)
    # Where probes and Prometheus look by default; the same under the prefix.
    app.include_router(health.router, dependencies=checked)
    # Made now: it takes a tenth of a second, for which no request should wait, nor any Envoy.
    operations = Operations(app.openapi())
    install(app, operations)
    app.add_middleware(AnswersFailures)
    app.add_middleware(AnswersHead)
    if loopback_only:
        app.add_middleware(LoopbackOnly)
    return app
