"""Errors as RFC 9457 problem details: one shape for everything that goes wrong."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
_TYPE_PREFIX = "urn:problem-type:brownout:"


class ProblemItem(BaseModel):
    """One fault in what was sent, and where it is."""

    model_config = ConfigDict(frozen=True)

    path: str = Field(
        description="A path into the body, or the name of a header or a query parameter.",
        examples=["spec.responses[0].distribution.pbad"],
    )
    message: str = Field(description="What was expected there.")


class Problem(BaseModel):
    """RFC 9457 problem details, the body of every answer from 400 on."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(
        description="A stable identifier of the kind of problem.", examples=[_TYPE_PREFIX + "validation"]
    )
    title: str = Field(description="The kind of problem in words; the same for every problem of a type.")
    status: int = Field(description="The HTTP status, repeated.", ge=400, le=599)
    detail: str = Field(description="What happened this time and, where it helps, what to do.")
    errors: tuple[ProblemItem, ...] = Field(
        default=(), description="Every fault that was found, not only the first."
    )


class ApiProblem(Exception):  # noqa: N818 (RFC 9457's word)
    """Raised by the API's own code to answer with a problem; a subclass is a kind of problem.

    Attributes:
        status: the HTTP status.
        kind: the last part of the problem's type.
        title: the problem's title.
        errors: `(path, message)` pairs.
        headers: response headers that belong to the status (`Allow`, `Accept` …).
    """

    status: int
    kind: str
    title: str

    def __init__(
        self,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    @property
    def problem(self) -> Problem:
        """What the client is told."""
        return Problem(
            type=_TYPE_PREFIX + self.kind,
            title=self.title,
            status=self.status,
            detail=str(self),
            errors=tuple(ProblemItem(path=path, message=message) for path, message in self.errors),
        )


class Malformed(ApiProblem):
    """400: the request cannot be read at all."""

    status, kind, title = 400, "malformed", "The request cannot be read"


class Refused(ApiProblem):
    """403: it is understood and will not be done."""

    status, kind, title = 403, "refused", "Refused"


class Missing(ApiProblem):
    """404: nothing of that name, or no such path."""

    status, kind, title = 404, "not-found", "Not found"


class WrongMethod(ApiProblem):
    """405: other methods work on this path."""

    status, kind, title = 405, "method", "Not a method of this path"

    def __init__(self, path: str, method: str, allow: str) -> None:
        super().__init__(f"{path} takes {allow}, not {method}", headers={"Allow": allow})


class Contradiction(ApiProblem):
    """409: it contradicts what is there: a name is taken, or something is still in use."""

    status, kind, title = 409, "conflict", "It conflicts with what is there"

    def __init__(self, detail: str, used_by: Iterable[str] = ()) -> None:
        super().__init__(detail, [(user, "uses it") for user in used_by])


class Stale(ApiProblem):
    """412: a precondition header does not hold."""

    status, kind, title = 412, "stale", "A precondition does not hold"


class TooLarge(ApiProblem):
    """413: the body is larger than is read."""

    status, kind, title = 413, "too-large", "The body is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"at most {limit} bytes are read")


class Unsupported(ApiProblem):
    """415: the body is in a format that is not read."""

    status, kind, title = 415, "media-type", "The body's format is not read here"

    def __init__(self, detail: str, accept: Iterable[str]) -> None:
        super().__init__(detail, headers={"Accept": ", ".join(accept)})


class Invalid(ApiProblem):
    """422: it was read and breaks rules; every fault is listed."""

    status, kind, title = 422, "validation", "What was sent is not valid"

    def __init__(self, errors: Iterable[tuple[str, str]]) -> None:
        listed = tuple(errors)
        count = "one error" if len(listed) == 1 else f"{len(listed)} errors"
        super().__init__(f"{count}; nothing was changed", listed)


class Unavailable(ApiProblem):
    """503: the request is fine and cannot be served now."""

    status, kind, title = 503, "unavailable", "Not available now"


class Failed(ApiProblem):
    """500: a fault of the server; what it was stands in its log only."""

    status, kind, title = 500, "internal", "The server failed"

    def __init__(self) -> None:
        super().__init__("an unexpected error; the server's log has the details")


class HttpStatus(ApiProblem):
    """A status that a library below raised."""

    def __init__(self, status: int, detail: str | None, headers: Mapping[str, str] | None = None) -> None:
        try:
            self.title = HTTPStatus(status).phrase
        except ValueError:
            self.title = "Error"
        self.status, self.kind = status, f"http-{status}"
        super().__init__(detail or self.title, headers=headers)


def respond(problem: ApiProblem) -> Response:
    """The response that carries a problem."""
    body = json.dumps(problem.problem.model_dump(mode="json"), ensure_ascii=False).encode()
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)
