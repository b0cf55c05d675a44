"""Pieces of the OpenAPI document: bodies, answers, problems."""

from typing import Any

from pydantic import BaseModel

from api.bodies import JSON, YAML, YAML_TYPES
from api.problems import MEDIA_TYPE, Problem
from api.schemas.base import ref

Responses = dict[int | str, dict[str, Any]]

ETAG: dict[str, Any] = {
    "ETag": {
        "description": "The revision that last changed it, quoted.",
        "schema": {"type": "string"},
        "example": '"17"',
    }
}
_LOCATION = {"Location": {"description": "Where it is.", "schema": {"type": "string"}}}

_MEANINGS = {
    400: "Malformed: the body or a header cannot be read.",
    403: "Without tokens only this machine is served, and no page of another site may write.",
    404: "There is nothing of that name.",
    409: "It conflicts with what is there; `errors` names what is in the way.",
    412: "A precondition header does not hold.",
    413: "The body is larger than is read.",
    415: "The body's format is not read here; `Accept` names those that are.",
    422: "It breaks rules; `errors` names every faulty place.",
    503: "The store cannot be written now.",
}

CREATES = (400, 409, 413, 415, 422, 503)
"""What can go wrong with a `POST` that makes something."""

WRITES = (400, 412, 413, 415, 422, 503)
"""What can go wrong with a `PUT`."""


def problems(*statuses: int) -> Responses:
    """The error answers of an operation; whatever else goes wrong has the same form."""
    content = {MEDIA_TYPE: {"schema": ref(Problem)}}
    return {
        **{status: {"description": _MEANINGS[status], "content": content} for status in statuses},
        "default": {"description": "Any other error.", "content": content},
    }


def shows(model: type[BaseModel], description: str, *, status: int = 200, etag: bool = True) -> Responses:
    """A successful answer with a JSON body."""
    headers = {**(ETAG if etag else {}), **(_LOCATION if status == 201 else {})}
    content = {JSON: {"schema": ref(model)}}
    return {status: {"description": description, "content": content, "headers": headers}}


UNCHANGED: Responses = {304: {"description": "`If-None-Match` names what is there."}}
DELETED: Responses = {204: {"description": "It is gone."}}


def takes(*models: type[BaseModel], yaml: bool = False, required: bool = True) -> dict[str, Any]:
    """`openapi_extra` for an operation that reads its body itself."""
    schema = ref(models[0]) if len(models) == 1 else {"oneOf": [ref(model) for model in models]}
    media_types = (JSON, YAML, *YAML_TYPES[1:]) if yaml else (JSON,)
    content = {media_type: {"schema": schema} for media_type in media_types}
    return {"requestBody": {"required": required, "content": content}}
