"""What the OpenAPI document says of requests that no route takes."""

import pytest

from api.operations import Operations
from api.problems import Invalid

DOCUMENT = {
    "paths": {
        "/api/v1/profiles": {
            "get": {"parameters": [{"name": "limit", "in": "query"}, {"name": "x", "in": "header"}]},
            "post": {},
        },
        "/api/v1/profiles/check": {"post": {}},
        "/api/v1/profiles/{name}": {"get": {"parameters": [{"name": "name", "in": "path"}]}, "put": {}},
    }
}


def test_the_allowed_methods_are_those_of_all_routes_of_the_path() -> None:
    """`check` is an operation for POST and a name for the others."""
    operations = Operations(DOCUMENT)
    problem = operations.unrouted("DELETE", "/api/v1/profiles/check")
    assert problem.status == 405
    assert problem.headers["Allow"] == "GET, HEAD, POST, PUT"
    assert operations.unrouted("DELETE", "/api/v1/profiles").headers["Allow"] == "GET, HEAD, POST"


def test_an_unknown_path_is_not_found_and_says_what_was_meant() -> None:
    """A slip of the hand is recognised; for the rest there is the document."""
    operations = Operations(DOCUMENT)
    assert "did you mean /api/v1/profiles?" in str(operations.unrouted("GET", "/api/v1/profile"))
    assert "openapi.json" in str(operations.unrouted("GET", "/elsewhere"))
    assert operations.unrouted("GET", "/api/v1/profiles/").status == 404


def test_query_parameters_that_are_not_read_are_refused_all_at_once() -> None:
    """Also one that is given twice."""
    operations = Operations(DOCUMENT)
    operations.check_query("GET", "/api/v1/profiles", ["limit"])
    with pytest.raises(Invalid) as caught:
        operations.check_query("GET", "/api/v1/profiles", ["limt", "x", "limit", "limit"])
    assert [path for path, _ in caught.value.errors] == ["limt", "x", "limit"]
    assert "expected limit" in caught.value.errors[0][1]
