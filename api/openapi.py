"""The OpenAPI document: what FastAPI collects, with the bodies that routes read themselves."""

import importlib
import pkgutil
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel  # noqa: TC002 (FastAPI's own lint rule does not know this module)
from pydantic.json_schema import models_json_schema

from api import schemas
from api.problems import Problem
from api.schemas.base import REF_TEMPLATE, Schema

_DESCRIPTION = """\
Everything is JSON; where an entity or a whole configuration goes in, YAML is read as well.
Names are DNS labels. Lists come in pages: give `next` as `cursor` until it is null.
An entity's `ETag` is the revision that last changed it; writes take `If-Match` and `If-None-Match`.
Errors are RFC 9457 problem details (`application/problem+json`) with `errors: [{path, message}]`.
Unknown fields and query parameters are refused."""

_TAGS = [
    {"name": "profiles", "description": "Named fault behaviours."},
    {"name": "upstreams", "description": "Real backends."},
    {"name": "fleets", "description": "The Envoys that share a configuration."},
    {"name": "endpoints", "description": "A fleet's ordered list: a match, an upstream, optionally a fault."},
    {"name": "faults", "description": "Binding a profile to an endpoint: the daily act."},
    {"name": "configuration", "description": "Everything at once."},
    {"name": "nodes", "description": "The connected Envoys."},
    {"name": "revisions", "description": "The audit trail."},
    {"name": "operations", "description": "Halts, events, health, metrics."},
]


def _models() -> list[type[Schema]]:
    for module in pkgutil.iter_modules(schemas.__path__, f"{schemas.__name__}."):
        importlib.import_module(module.name)
    found: list[type[Schema]] = []
    pending: list[type[Schema]] = [Schema]
    while pending:
        for model in pending.pop().__subclasses__():
            found.append(model)
            pending.append(model)
    return sorted(found, key=lambda model: model.__name__)


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document of `app`."""
    made = get_openapi(
        title=app.title,
        summary=app.summary,
        description=_DESCRIPTION,
        version=app.version,
        license_info=app.license_info,
        tags=_TAGS,
        routes=app.routes,
    )
    models: list[type[BaseModel]] = [*_models(), Problem]
    _, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template=REF_TEMPLATE
    )
    for item in made["paths"].values():
        for operation in item.values():
            for answer in operation["responses"].values():
                _drop_guessed(answer)
    made["components"] = {"schemas": definitions["$defs"]}
    return made


def _drop_guessed(answer: dict[str, Any]) -> None:
    """FastAPI adds JSON of any form to every successful answer, also to event streams and metrics."""
    content = answer.get("content", {})
    for media_type in [each for each, described in content.items() if not described.get("schema")]:
        del content[media_type]
