"""What only profiles have: validation, history, rollback."""

from typing import Any

import pytest

from tests.api.samples import PROFILE, SPEC
from tests.api.serving import RestServer

BAD: dict[str, Any] = {
    "description": 5,
    "spec": {
        "responses": [
            {"status": 999, "resolution": 0, "distribution": {"pbad": "1ms", "p50": "soon"}},
        ],
        "colour": "red",
    },
}
BAD_PATHS = {
    "description",
    "spec.colour",
    "spec.responses[0].status",
    "spec.responses[0].resolution",
    "spec.responses[0].distribution.pbad",
    "spec.responses[0].distribution.p50",
}


def _paths(answer: Any) -> set[str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return {each["path"] for each in answer.json()["errors"]}


def test_an_invalid_profile_names_every_faulty_path_and_stores_nothing(rest: RestServer) -> None:
    """All at once, for PUT, POST and validation."""
    put = rest.http.put("/api/v1/profiles/slow", json=BAD)
    post = rest.http.post("/api/v1/profiles", json={"name": "slow", **BAD})
    checked = rest.http.post("/api/v1/profiles/validate", json=BAD)
    for answer in (put, post, checked):
        assert answer.status_code == 422
        assert _paths(answer) == BAD_PATHS
    assert rest.http.get("/api/v1/profiles/slow").status_code == 404
    assert rest.http.get("/api/v1/revisions").json()["items"] == []


def test_validation_takes_a_profile_or_a_bare_specification(rest: RestServer) -> None:
    """A valid one is shown in its canonical form; errors have paths in what was sent."""
    for body in (PROFILE, {"spec": SPEC}, SPEC):
        answer = rest.http.post("/api/v1/profiles/validate", json=body)
        assert answer.status_code == 200
        assert answer.json() == {"valid": True, "spec": SPEC}
    bare = rest.http.post("/api/v1/profiles/validate", json=BAD["spec"])
    assert _paths(bare) == {path.removeprefix("spec.") for path in BAD_PATHS - {"description"}}


def test_a_profile_may_be_yaml(rest: RestServer) -> None:
    """Every media type of YAML, with or without the charset; keys like `on` stay strings."""
    yaml = "spec:\n  responses:\n  - status: 200\n    resolution: 1\n    distribution: {p50: 1s}\n"
    for index, media_type in enumerate(
        ("application/yaml", "application/x-yaml", "text/yaml; charset=utf-8", 'text/x-yaml;charset="UTF-8"')
    ):
        answer = rest.http.put(
            f"/api/v1/profiles/y{index}", content=yaml, headers={"Content-Type": media_type}
        )
        assert answer.status_code == 201, answer.text
        assert answer.json()["spec"]["responses"][0]["distribution"] == {"p50": "1s"}


def test_a_profile_is_shown_as_its_author_wrote_it(rest: RestServer) -> None:
    """1000ms stays 1000ms."""
    spec = {
        "responses": [{"status": 200, "resolution": 1, "distribution": {"p50.0": "1000ms"}}],
        "diagnostic": False,
    }
    rest.http.put("/api/v1/profiles/slow", json={"spec": spec})
    assert rest.http.get("/api/v1/profiles/slow").json()["spec"] == spec


def test_history_and_rollback(rest: RestServer) -> None:
    """The newest first; a rollback is a change of its own, and brings back what was deleted."""
    rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC, "description": "one"})
    rest.http.put("/api/v1/profiles/other", json={"spec": SPEC})
    rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC, "description": "two"})
    history = rest.http.get("/api/v1/profiles/slow/revisions").json()["items"]
    assert [(each["number"], each["action"]) for each in history] == [(3, "update"), (1, "create")]
    assert history[0]["before"]["description"] == "one"
    assert history[0]["actor"] == "local"

    stale = rest.http.post(
        "/api/v1/profiles/slow/rollback", json={"revision": 1}, headers={"If-Match": '"1"'}
    )
    assert stale.status_code == 412
    back = rest.http.post("/api/v1/profiles/slow/rollback", json={"revision": 1}, headers={"If-Match": '"3"'})
    assert (back.status_code, back.headers["etag"]) == (200, '"4"')
    assert back.json()["description"] == "one"
    rest.http.delete("/api/v1/profiles/slow")
    assert (
        rest.http.post("/api/v1/profiles/slow/rollback", json={"revision": 3}).json()["description"] == "two"
    )
    numbers = [each["number"] for each in rest.http.get("/api/v1/profiles/slow/revisions").json()["items"]]
    assert numbers == [6, 5, 4, 3, 1]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"revision": "1"}, "revision"),
        ({"revision": 0}, "revision"),
        ({}, "revision"),
        ({"revision": 1, "x": 1}, "x"),
        ([], ""),
    ],
)
def test_a_rollback_needs_a_revision(rest: RestServer, body: Any, path: str) -> None:
    """Strictly: no string, nothing else beside it."""
    answer = rest.http.post("/api/v1/profiles/slow/rollback", json=body)
    assert answer.status_code == 422
    assert _paths(answer) == {path}


def test_a_rollback_to_where_it_was_not_says_so(rest: RestServer) -> None:
    """A name that never was, and a revision before its time."""
    assert rest.http.post("/api/v1/profiles/slow/rollback", json={"revision": 1}).status_code == 404
    assert rest.http.get("/api/v1/profiles/slow/revisions").status_code == 404
    rest.http.put("/api/v1/profiles/other", json={"spec": SPEC})
    rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC})
    assert rest.http.post("/api/v1/profiles/slow/rollback", json={"revision": 1}).status_code in {404, 422}
