"""Bodies: formats, limits, what is malformed."""

import json
from typing import Any

import httpx
import pytest

from api.bodies import MAX_BODY
from tests.api.samples import SPEC
from tests.api.serving import RestServer

PATH = "/api/v1/profiles/slow"
JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}


def _problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    return problem


@pytest.mark.parametrize(
    "media_type", [None, "application/x-www-form-urlencoded", "text/plain", "application/xml", "*/*"]
)
def test_other_formats_are_415_and_say_what_is_read(shared: RestServer, media_type: str | None) -> None:
    """Also a body without any type."""
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = shared.http.put(PATH, content=b"{}", headers=headers)
    assert "application/yaml" in _problem(answer, 415)["detail"]
    assert "application/json" in answer.headers["accept"]


def test_yaml_is_not_read_where_only_json_is(shared: RestServer) -> None:
    """A rollback is no profile."""
    answer = shared.http.post(f"{PATH}/rollback", content=b"revision: 1", headers=YAML)
    assert "application/yaml" not in _problem(answer, 415)["detail"].split(", not")[0]


def test_other_encodings_are_415(shared: RestServer) -> None:
    """Of the content and of the characters."""
    for headers in ({"Content-Encoding": "gzip"}, {"Content-Type": "application/json; charset=latin-1"}):
        _problem(shared.http.put(PATH, content=b"{}", headers=JSON | headers), 415)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "expected"),
        (b"  \n", "expected"),
        (b'{"spec": }', "line 1, column 10"),
        (b'{\n"spec": {\n}', "line 3"),
        (b"spec: {}", "line 1, column 1"),
        (b'{"spec": NaN}', "NaN"),
        (b'{"a": "\xff"}', "byte 7"),
        (b"[" * 100_000, "levels"),
        (b'{"spec": {}, "spec": {}}', "spec"),
        (b"1" * 10_000, "expected an integer of at most 64 bits"),
        (b'{"spec": {"seed": ' + b"1" * 10_000 + b"}}", "spec.seed expected an integer of at most 64 bits"),
    ],
)
def test_malformed_json_is_400_and_says_where(shared: RestServer, content: bytes, says: str) -> None:
    """Syntax, encoding, depth, duplicates."""
    problem = _problem(shared.http.put(PATH, content=content, headers=JSON), 400)
    assert says in "{path} {message}".format(**problem["errors"][0])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"spec: [1", "line"),
        (b"spec: 1\nspec: 2\n", "spec"),
        (b"a: 1\n---\nb: 2\n", "document"),
        (b"\ta: 1", "line"),
        (b"a: &a [*a]", ""),
        (b"spec: \x00", ""),
    ],
)
def test_malformed_yaml_is_400_and_says_where(shared: RestServer, content: bytes, says: str) -> None:
    """Syntax, duplicates, several documents, recursion."""
    problem = _problem(shared.http.put(PATH, content=content, headers=YAML), 400)
    assert says in " ".join(f"{each['path']} {each['message']}" for each in problem["errors"])


def test_a_byte_order_mark_is_no_mistake(shared: RestServer) -> None:
    """Some editors and shells write one."""
    for headers in (JSON, YAML):
        content = b"\xef\xbb\xbf" + json.dumps({"spec": SPEC}).encode()
        assert shared.http.post("/api/v1/profiles/validate", content=content, headers=headers).is_success


@pytest.mark.parametrize("content", [b"[]", b"5", b'"text"', b"null", b"true"])
def test_what_is_no_mapping_is_422(shared: RestServer, content: bytes) -> None:
    """It is well-formed and not what was asked for."""
    problem = _problem(shared.http.put(PATH, content=content, headers=JSON), 422)
    assert [each["path"] for each in problem["errors"]] == [""]


def test_too_large_a_body_is_413(shared: RestServer) -> None:
    """Whether it says so beforehand or not; as large as allowed is read."""
    large = b" " * (MAX_BODY + 1)
    _problem(shared.http.put(PATH, content=large, headers=JSON), 413)
    _problem(shared.http.put(PATH, content=iter([large]), headers=JSON), 413)
    body = json.dumps({"spec": SPEC}).encode()
    assert shared.http.put(PATH, content=body.ljust(MAX_BODY), headers=JSON).status_code == 201
    assert shared.http.get("/healthz").status_code == 200


def test_an_expansion_bomb_is_refused_quickly(shared: RestServer) -> None:
    """Aliases of aliases; the server answers others meanwhile."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    answer = shared.http.put(PATH, content="\n".join(lines).encode(), headers=YAML, timeout=10)
    assert answer.status_code in {400, 422}
