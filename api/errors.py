"""From exceptions to problems: whatever is raised, the client gets RFC 9457."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from api.operations import Operations
from api.problems import (
    ApiProblem,
    Contradiction,
    Failed,
    HttpStatus,
    Invalid,
    Missing,
    Stale,
    Unavailable,
    respond,
)
from brownout.domain import Conflict, NotFound, StaleRevision, ValidationFailed
from brownout.profile.errors import found
from brownout.store import StoreUnavailable

_MESSAGES = {
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a whole number",
    "bool_parsing": "expected true or false",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
}


def problem_of(error: Exception) -> ApiProblem:  # noqa: PLR0911 (one line a kind)
    """The problem that tells a client of `error`."""
    match error:
        case ApiProblem():
            return error
        case ValidationFailed():
            return Invalid((each.path, each.message) for each in error.errors)
        case NotFound():
            return Missing(str(error))
        case Conflict():
            return Contradiction(str(error), error.used_by)
        case StaleRevision():
            return Stale(str(error))
        case StoreUnavailable():
            return Unavailable(str(error))
        case RequestValidationError():
            return Invalid(_parameter(each) for each in error.errors())
        case HTTPException():
            return HttpStatus(error.status_code, error.detail, error.headers)
        case _:
            return Failed()


def _parameter(details: dict[str, object]) -> tuple[str, str]:
    location = details["loc"]
    name = str(location[-1]) if isinstance(location, tuple | list) else ""
    context = details.get("ctx")
    template = _MESSAGES.get(str(details["type"]))
    message = (
        template.format(**(context if isinstance(context, dict) else {})) if template else str(details["msg"])
    )
    return name, f"{message}, found {found(details.get('input'))}"


def install(app: FastAPI, operations: Operations) -> None:
    """Make `app` answer every error that can be expected with a problem (`api.failures` has the others).

    Args:
        app: the application.
        operations: what it serves, for requests that no route takes.
    """

    async def handle(_request: Request, error: Exception) -> Response:
        return respond(problem_of(error))

    async def handle_http(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code in {404, 405}:
            # Only routing raises these here; one route's own `Allow` would leave out those of its siblings.
            return respond(operations.unrouted(request.method, request.url.path))
        return await handle(request, error)

    app.add_exception_handler(HTTPException, handle_http)
    for kind in (
        ApiProblem,
        ValidationFailed,
        NotFound,
        Conflict,
        StaleRevision,
        StoreUnavailable,
        RequestValidationError,
    ):
        app.add_exception_handler(kind, handle)
