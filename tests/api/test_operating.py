"""Halts, nodes, revisions."""

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.api.samples import CONFIGURATION, FLEET, SPEC
from tests.api.serving import RestServer


@pytest.fixture
def edge(rest: RestServer) -> httpx.Client:
    """A configured fleet, at revision 5."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    return rest.http


def test_a_halt_and_its_end_are_recorded(edge: httpx.Client, rest: RestServer) -> None:
    """Each with a revision; repeating one changes nothing."""
    done = edge.post("/api/v1/fleets/edge/halt")
    assert done.json() == {"key": "edge", "halted": True, "revision": 6, "problem": None}
    assert rest.service.catalog.halted("edge")
    assert edge.post("/api/v1/fleets/edge/halt").json()["revision"] is None
    assert edge.get("/api/v1/fleets/edge/nodes").json()["halted"] is True
    ended = edge.post("/api/v1/fleets/edge/resume")
    assert ended.json() == {"key": "edge", "halted": False, "revision": 7, "problem": None}
    assert edge.post("/api/v1/fleets/nope/halt").status_code == 404


def test_a_fleet_stays_halted_while_all_are(edge: httpx.Client) -> None:
    """409 says what to do."""
    assert edge.post("/api/v1/halt").json()["key"] == "*"
    refused = edge.post("/api/v1/fleets/edge/resume")
    assert refused.status_code == 409
    assert "all" in refused.json()["detail"]
    assert edge.get("/api/v1/fleets/edge/nodes").json()["halted"] is True
    assert edge.post("/api/v1/resume").json()["halted"] is False
    assert edge.get("/api/v1/fleets/edge/nodes").json()["halted"] is False


def test_a_fleets_nodes_begin_with_how_far_it_is(edge: httpx.Client, rest: RestServer) -> None:
    """Converged is when all connected nodes are current and none rejects."""
    rest.nodes.revision = 5
    empty = edge.get("/api/v1/fleets/edge/nodes").json()
    assert (empty["nodes"], empty["converged"], empty["items"]) == (0, True, [])
    rest.soon(lambda: rest.nodes.put("edge", "b", 5))
    rest.soon(lambda: rest.nodes.put("edge", "a", 4, rejected=True))
    rest.soon(lambda: rest.nodes.put("other", "c", 4))
    shown = edge.get("/api/v1/fleets/edge/nodes").json()
    progress = {
        key: shown[key] for key in ("fleet", "revision", "nodes", "current", "rejecting", "converged")
    }
    assert progress == {
        "fleet": "edge",
        "revision": 5,
        "nodes": 2,
        "current": 1,
        "rejecting": 1,
        "converged": False,
    }
    assert [each["id"] for each in shown["items"]] == ["a", "b"]
    first = shown["items"][0]
    assert first["acknowledged"] == {"rds": {"version": "v", "revision": 4, "at": "2030-01-31T12:00:00Z"}}
    assert first["rejected"]["rds"]["finding"] == "routes[0]: no such profile"
    everywhere = edge.get("/api/v1/nodes").json()["items"]
    assert [(each["fleet"], each["id"]) for each in everywhere] == [
        ("edge", "a"),
        ("edge", "b"),
        ("other", "c"),
    ]
    assert edge.get("/api/v1/fleets/nope/nodes").status_code == 404


def test_nodes_come_in_pages(edge: httpx.Client, rest: RestServer) -> None:
    """Each node once."""
    for index in range(5):
        rest.soon(lambda index=index: rest.nodes.put("edge", f"n{index}", 1))  # type: ignore[misc]
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = edge.get("/api/v1/nodes", params=query).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"n{index}" for index in range(5)]


def test_revisions_are_numbered_without_gaps_the_newest_first(edge: httpx.Client) -> None:
    """All of them, of one fleet, in pages."""
    edge.put("/api/v1/fleets/other", json={**FLEET, "name": "other"})
    edge.post("/api/v1/fleets/edge/halt")
    numbers: list[int] = []
    cursor = None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = edge.get("/api/v1/revisions", params=query).json()
        numbers += [each["number"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert numbers == [7, 6, 5, 4, 3, 2, 1]
    of_edge = edge.get("/api/v1/revisions", params={"fleet": "edge"}).json()["items"]
    assert [each["key"] for each in of_edge] == ["edge", "edge/rest", "edge/pay", "edge"]
    assert edge.get("/api/v1/fleets/edge/revisions").json()["items"] == of_edge
    assert edge.get("/api/v1/fleets/nope/revisions").status_code == 404


def test_a_fleet_returns_to_what_it_was(edge: httpx.Client) -> None:
    """With its endpoints, in one transaction."""
    edge.delete("/api/v1/fleets/edge/endpoints/pay")
    edge.put("/api/v1/fleets/edge", json={**FLEET, "listeners": [{**FLEET["listeners"][0], "port": 10001}]})
    back = edge.post("/api/v1/fleets/edge/rollback", json={"revision": 5})
    assert back.status_code == 200
    assert {(each["kind"], each["key"]) for each in back.json()["changes"]} >= {
        ("fleet", "edge"),
        ("endpoint", "edge/pay"),
    }
    assert edge.get("/api/v1/fleets/edge").json()["listeners"][0]["port"] == 10000
    assert [each["name"] for each in edge.get("/api/v1/fleets/edge/endpoints").json()["items"]] == [
        "pay",
        "rest",
    ]


def test_metadata_is_shown_as_people_write_it(edge: httpx.Client, rest: RestServer) -> None:
    """Envoy sends every number as a float, and may send what JSON has no number for."""
    rest.soon(lambda: rest.nodes.put("edge", "a", 5))
    [node] = edge.get("/api/v1/nodes").json()["items"]
    assert node["metadata"] == {"brownout": {"schema_version": 1}, "weights": [0.5, 2], "odd": "nan"}
    assert isinstance(node["metadata"]["brownout"]["schema_version"], int)


def test_what_is_damaged_is_listed(tmp_path: Path) -> None:
    """With what is wrong, and what is stored; replacing it ends that."""
    with RestServer(tmp_path) as before:
        before.http.post("/api/v1/config/apply", json=CONFIGURATION)
        before.http.put("/api/v1/fleets/edge/endpoints/pay/fault", json={"profile": "slow"})
        assert before.http.get("/api/v1/damaged").json() == {"items": [], "next": None}
    with closing(sqlite3.connect(tmp_path / "brownout.db")) as database, database:
        database.execute("UPDATE profiles SET document = '{\"name\": \"slow\"}' WHERE name = 'slow'")
    with RestServer(tmp_path) as rest:
        endpoint, profile = rest.http.get("/api/v1/damaged").json()["items"]
        assert profile == {
            "kind": "profile",
            "key": "slow",
            "errors": [{"path": "spec", "message": "is required"}],
            "document": {"name": "slow"},
        }
        assert (endpoint["kind"], endpoint["key"]) == ("endpoint", "edge/pay")
        assert [each["path"] for each in endpoint["errors"]] == ["fault.profile"]
        rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC})
        assert rest.http.get("/api/v1/damaged").json()["items"] == []
