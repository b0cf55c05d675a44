"""Successful answers: JSON with an entity tag, 201 with a place, 304."""

import json
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from api.bodies import JSON
from api.preconditions import Preconditions, etag

PREFIX = "/api/v1"


def place(*segments: str) -> str:
    """The path of a resource."""
    return PREFIX + "".join(f"/{quote(segment, safe='')}" for segment in segments)


def show(
    content: Any, *, revision: int | None = None, status: int = 200, location: str | None = None
) -> Response:
    """A JSON answer; `revision` becomes its `ETag`, `location` its `Location`."""
    headers = {}
    if revision is not None:
        headers["ETag"] = etag(revision)
    if location is not None:
        headers["Location"] = location
    body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, JSON)


def show_unless_known(content: Any, revision: int, cached: Preconditions) -> Response:
    """The answer to a `GET`: 304 when the reader has this revision already."""
    if cached.unchanged(revision):
        return Response(status_code=304, headers={"ETag": etag(revision)})
    return show(content, revision=revision)


def written(content: Any, *, revision: int, created: bool, location: str) -> Response:
    """The answer to a `PUT`: 201 with its place when it is new, else 200."""
    if created:
        return show(content, revision=revision, status=201, location=location)
    return show(content, revision=revision)


def gone() -> Response:
    """The answer to a `DELETE`."""
    return Response(status_code=204)
