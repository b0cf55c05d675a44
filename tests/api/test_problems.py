"""Problem details."""

import json

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from api.errors import problem_of
from api.problems import Invalid, Unsupported, WrongMethod, respond
from brownout.domain import Conflict, FieldError, NotFound, StaleRevision, ValidationFailed
from brownout.store import StoreUnavailable


def test_a_problem_has_the_members_of_rfc_9457_and_its_media_type() -> None:
    """Type, title, status, detail and errors, as application/problem+json."""
    answer = respond(Invalid([("spec.seed", "expected a whole number"), ("name", "is required")]))
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(bytes(answer.body)) == {
        "type": "urn:problem-type:brownout:validation",
        "title": "What was sent is not valid",
        "status": 422,
        "detail": "2 errors; nothing was changed",
        "errors": [
            {"path": "spec.seed", "message": "expected a whole number"},
            {"path": "name", "message": "is required"},
        ],
    }


def test_headers_that_belong_to_a_status_are_sent() -> None:
    """405 has Allow, 415 has Accept."""
    assert respond(WrongMethod("/x", "PATCH", "GET, HEAD")).headers["allow"] == "GET, HEAD"
    assert respond(Unsupported("no", ["application/json"])).headers["accept"] == "application/json"


@pytest.mark.parametrize(
    ("error", "status", "paths"),
    [
        (
            ValidationFailed([FieldError("spec.responses[0].distribution.pbad", "no")]),
            422,
            ["spec.responses[0].distribution.pbad"],
        ),
        (NotFound("profile", "slwo", ["slow"]), 404, []),
        (Conflict("profile 'slow' is in use", ["endpoint edge/pay"]), 409, ["endpoint edge/pay"]),
        (StaleRevision("profile 'slow'", 3, 4), 412, []),
        (StoreUnavailable("the database cannot be used: disk full"), 503, []),
        (HTTPException(400, "bad"), 400, []),
        (
            RequestValidationError(
                [{"type": "int_parsing", "loc": ("query", "limit"), "msg": "m", "input": "x"}]
            ),
            422,
            ["limit"],
        ),
    ],
)
def test_every_expected_error_has_its_status(error: Exception, status: int, paths: list[str]) -> None:
    """The errors of the core and of the libraries below become problems."""
    problem = problem_of(error).problem
    assert problem.status == status
    assert [each.path for each in problem.errors] == paths


def test_an_unexpected_error_tells_the_client_nothing() -> None:
    """What went wrong is for the log."""
    problem = problem_of(RuntimeError("password=hunter2")).problem
    assert problem.status == 500
    assert "hunter2" not in problem.model_dump_json()
