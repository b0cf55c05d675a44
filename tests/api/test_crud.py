"""Profiles, upstreams, fleets: what is the same for all."""

from typing import Any

import pytest

from tests.api.samples import FLEET, PROFILE, SPEC, UPSTREAM
from tests.api.serving import RestServer

KINDS = [("profiles", PROFILE), ("upstreams", UPSTREAM), ("fleets", FLEET)]
kinds = pytest.mark.parametrize(("kind", "entity"), KINDS, ids=[kind for kind, _ in KINDS])


@kinds
def test_put_creates_then_replaces(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """201 with a place, then 200; the tag is the revision, and stays when nothing changes."""
    path = f"/api/v1/{kind}/{entity['name']}"
    created = rest.http.put(path, json=entity)
    assert created.status_code == 201
    assert created.headers["location"] == path
    assert created.headers["etag"] == '"1"'
    again = rest.http.put(path, json={k: v for k, v in entity.items() if k != "name"})
    assert (again.status_code, again.headers["etag"]) == (200, '"1"')
    assert "location" not in again.headers
    shown = rest.http.get(path)
    assert shown.headers["etag"] == '"1"'
    assert shown.json() == created.json()
    assert entity.items() <= {**shown.json(), **entity}.items()


@kinds
def test_what_is_shown_can_be_put_back(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """GET and PUT speak the same language; nothing changes."""
    path = f"/api/v1/{kind}/{entity['name']}"
    rest.http.put(path, json=entity)
    back = rest.http.put(path, json=rest.http.get(path).json())
    assert (back.status_code, back.headers["etag"]) == (200, '"1"')


@kinds
def test_post_creates_and_refuses_a_taken_name(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """201 with a place, then 409."""
    created = rest.http.post(f"/api/v1/{kind}", json=entity)
    assert created.status_code == 201
    assert created.headers["location"] == f"/api/v1/{kind}/{entity['name']}"
    again = rest.http.post(f"/api/v1/{kind}", json=entity)
    assert again.status_code == 409
    assert again.json()["type"] == "urn:problem-type:brownout:conflict"


@kinds
def test_delete_removes(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """204 without a body, then 404."""
    path = f"/api/v1/{kind}/{entity['name']}"
    rest.http.put(path, json=entity)
    gone = rest.http.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert rest.http.delete(path).status_code == 404
    assert rest.http.get(path).status_code == 404


@kinds
def test_an_unknown_name_is_404_and_says_what_there_is(
    rest: RestServer, kind: str, entity: dict[str, Any]
) -> None:
    """A slip of the hand is recognised."""
    rest.http.put(f"/api/v1/{kind}/{entity['name']}", json=entity)
    missing = rest.http.get(f"/api/v1/{kind}/{entity['name']}x")
    assert missing.status_code == 404
    assert entity["name"] in missing.json()["detail"]


@kinds
def test_the_name_in_the_body_must_be_that_of_the_path(
    rest: RestServer, kind: str, entity: dict[str, Any]
) -> None:
    """Nothing is stored under either."""
    answer = rest.http.put(f"/api/v1/{kind}/other", json=entity)
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["errors"]] == ["name"]
    assert rest.http.get(f"/api/v1/{kind}").json() == {"items": [], "next": None}


@kinds
def test_preconditions_guard_writes(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """Stale tags are 412, for PUT and DELETE; create-only and exists-only work."""
    path = f"/api/v1/{kind}/{entity['name']}"
    assert rest.http.put(path, json=entity, headers={"If-Match": "*"}).status_code == 412
    assert rest.http.put(path, json=entity, headers={"If-None-Match": "*"}).status_code == 201
    assert rest.http.put(path, json=entity, headers={"If-None-Match": "*"}).status_code == 412
    stale = rest.http.put(path, json=entity, headers={"If-Match": '"7"'})
    assert stale.status_code == 412
    assert "revision 1" in stale.json()["detail"]
    assert rest.http.put(path, json=entity, headers={"If-Match": '"1"'}).status_code == 200
    assert rest.http.put(path, json=entity, headers={"If-Match": "1"}).status_code == 400
    assert rest.http.delete(path, headers={"If-Match": '"7"'}).status_code == 412
    assert rest.http.delete(path, headers={"If-Match": '"1"'}).status_code == 204


@kinds
def test_a_reader_that_has_it_gets_304(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """Without a body, with the tag."""
    path = f"/api/v1/{kind}/{entity['name']}"
    rest.http.put(path, json=entity)
    known = rest.http.get(path, headers={"If-None-Match": '"1"'})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", '"1"')
    assert rest.http.get(path, headers={"If-None-Match": '"2"'}).status_code == 200


@kinds
def test_head_is_get_without_a_body(rest: RestServer, kind: str, entity: dict[str, Any]) -> None:
    """The same headers."""
    path = f"/api/v1/{kind}/{entity['name']}"
    rest.http.put(path, json=entity)
    shown, head = rest.http.get(path), rest.http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == shown.headers["etag"]
    assert head.headers["content-length"] == shown.headers["content-length"]


def test_lists_come_in_pages_by_name(rest: RestServer) -> None:
    """Every entity once, whatever the limit; a wrong limit or cursor is 422."""
    names = [f"p{index:02}" for index in range(7)]
    for name in reversed(names):
        rest.http.put(f"/api/v1/profiles/{name}", json={"spec": SPEC})
    seen: list[str] = []
    cursor = None
    while True:
        query: dict[str, Any] = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = rest.http.get("/api/v1/profiles", params=query).json()
        seen += [each["name"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == names
    for limit in ("0", "1001", "x", "-1", ""):
        wrong = rest.http.get("/api/v1/profiles", params={"limit": limit})
        assert wrong.status_code == 422
        assert wrong.json()["errors"][0]["path"] == "limit"


def test_what_is_in_use_cannot_be_deleted(rest: RestServer) -> None:
    """409 names by whom."""
    rest.http.put("/api/v1/profiles/slow", json=PROFILE)
    rest.http.put("/api/v1/upstreams/payments", json=UPSTREAM)
    rest.http.put("/api/v1/fleets/edge", json=FLEET)
    rest.http.put(
        "/api/v1/fleets/edge/endpoints/pay", json={"upstream": "payments", "fault": {"profile": "slow"}}
    )
    for path in ("profiles/slow", "upstreams/payments"):
        used = rest.http.delete(f"/api/v1/{path}")
        assert used.status_code == 409
        assert [each["path"] for each in used.json()["errors"]] == ["endpoint edge/pay"]
    assert rest.http.delete("/api/v1/fleets/edge").status_code == 204
    assert rest.http.delete("/api/v1/profiles/slow").status_code == 204
