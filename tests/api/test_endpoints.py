"""Endpoints in their order, and their faults."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.api.samples import FLEET, PROFILE, UPSTREAM, endpoint
from tests.api.serving import RestServer

ENDPOINTS = "/api/v1/fleets/edge/endpoints"
ORDER = "/api/v1/fleets/edge/endpoints-order"
FAULT = f"{ENDPOINTS}/pay/fault"


@pytest.fixture
def edge(rest: RestServer) -> httpx.Client:
    """A fleet with a profile, an upstream and the endpoint `pay`: revisions 1 to 4."""
    rest.http.put("/api/v1/profiles/slow", json=PROFILE)
    rest.http.put("/api/v1/upstreams/payments", json=UPSTREAM)
    rest.http.put("/api/v1/fleets/edge", json=FLEET)
    assert rest.http.put(f"{ENDPOINTS}/pay", json=endpoint("pay")).status_code == 201
    return rest.http


def _names(http: httpx.Client) -> list[str]:
    return [each["name"] for each in http.get(ENDPOINTS).json()["items"]]


def test_new_endpoints_are_the_last_and_replaced_ones_stay_in_place(edge: httpx.Client) -> None:
    """The order is what decides which one matches."""
    created = edge.post(ENDPOINTS, json=endpoint("search"))
    assert (created.status_code, created.headers["location"]) == (201, f"{ENDPOINTS}/search")
    assert edge.post(ENDPOINTS, json=endpoint("search")).status_code == 409
    edge.put(f"{ENDPOINTS}/a", json=endpoint("a"))
    edge.put(f"{ENDPOINTS}/pay", json=endpoint("pay", timeout="3s"))
    assert _names(edge) == ["pay", "search", "a"]
    assert edge.get(f"{ENDPOINTS}/pay").json()["timeout"] == "3s"


def test_the_order_is_set_as_a_whole(edge: httpx.Client) -> None:
    """As an object or a bare list; guarded by the list's tag."""
    edge.put(f"{ENDPOINTS}/search", json=endpoint("search"))
    tag = edge.get(ENDPOINTS).headers["etag"]
    done = edge.put(ORDER, json={"endpoints": ["search", "pay"]}, headers={"If-Match": tag})
    assert (done.status_code, done.json()) == (200, {"endpoints": ["search", "pay"]})
    assert done.headers["etag"] == edge.get(ENDPOINTS).headers["etag"] != tag
    assert _names(edge) == ["search", "pay"]
    assert edge.put(ORDER, json=["pay", "search"], headers={"If-Match": tag}).status_code == 412
    assert edge.put(ORDER, json=["pay", "search"]).status_code == 200
    assert _names(edge) == ["pay", "search"]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"endpoints": ["pay", "nope"]}, ["endpoints[1]"]),
        (["nope", "pay"], ["[0]"]),
        ({"endpoints": []}, ["endpoints"]),
        ({"endpoints": ["pay", "pay"]}, ["endpoints"]),
        ({"endpoints": [1]}, ["endpoints[0]"]),
        ({"names": ["pay"]}, ["endpoints", "names"]),
        ("pay", [""]),
    ],
)
def test_an_order_names_each_endpoint_once(edge: httpx.Client, body: Any, paths: list[str]) -> None:
    """Errors have places in what was sent."""
    answer = edge.put(ORDER, json=body)
    assert answer.status_code == 422
    assert sorted(each["path"] for each in answer.json()["errors"]) == sorted(paths)


def test_the_list_comes_in_pages_in_order(edge: httpx.Client) -> None:
    """Not by name."""
    for name in ("z", "a", "m"):
        edge.post(ENDPOINTS, json=endpoint(name))
    first = edge.get(ENDPOINTS, params={"limit": 2}).json()
    rest = edge.get(ENDPOINTS, params={"limit": 2, "cursor": first["next"]}).json()
    assert [each["name"] for each in first["items"] + rest["items"]] == ["pay", "z", "a", "m"]
    assert rest["next"] is None


def test_a_fault_is_set_shown_and_cleared(edge: httpx.Client) -> None:
    """The daily act: 201 when there was none, 200 when it is replaced; the tag is the endpoint's."""
    assert edge.get(FAULT).status_code == 404
    done = edge.put(FAULT, json={"profile": "slow", "percent": 20})
    assert (done.status_code, done.headers["location"]) == (201, FAULT)
    assert done.json() == {
        "profile": "slow",
        "percent": 20,
        "expires_at": None,
        "nodes": None,
        "enabled": True,
        "headers": True,
    }
    assert edge.get(FAULT).json() == edge.get(f"{ENDPOINTS}/pay").json()["fault"] == done.json()
    assert edge.get(FAULT).headers["etag"] == edge.get(f"{ENDPOINTS}/pay").headers["etag"]
    assert edge.put(FAULT, json={"profile": "slow", "percent": 12.5}).status_code == 200
    assert edge.delete(FAULT).status_code == 204
    assert edge.delete(FAULT).status_code == 404
    assert edge.get(f"{ENDPOINTS}/pay").json()["fault"] is None


def test_a_fault_may_end_by_itself(edge: httpx.Client) -> None:
    """`for` counts from now, in JSON and YAML, and in an endpoint too."""
    before = datetime.now(UTC)
    answers = [
        edge.put(FAULT, json={"profile": "slow", "for": "10m"}),
        edge.put(FAULT, content="profile: slow\nfor: 10m\n", headers={"Content-Type": "application/yaml"}),
    ]
    whole = edge.put(f"{ENDPOINTS}/pay", json=endpoint("pay", fault={"profile": "slow", "for": "10m"}))
    for fault in (*(answer.json() for answer in answers), whole.json()["fault"]):
        left = datetime.fromisoformat(fault["expires_at"]) - before
        assert timedelta(minutes=10) <= left < timedelta(minutes=11)


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"profile": "nope"}, ["profile"]),
        ({"percent": 20}, ["profile"]),
        ({"profile": "slow", "for": "0s"}, ["for"]),
        ({"profile": "slow", "for": 10}, ["for"]),
        ({"profile": "slow", "for": "1s", "expires_at": "2030-01-01T00:00:00Z"}, ["for"]),
        ({"profile": "slow", "percent": 101, "colour": 1}, ["colour", "percent"]),
        ({"profile": "slow", "percent": "20"}, ["percent"]),
        ({"profile": "slow", "expires_at": "2030-01-01"}, ["expires_at"]),
        ({"profile": "slow", "nodes": {}}, ["nodes"]),
    ],
)
def test_a_faulty_fault_names_every_place(edge: httpx.Client, body: Any, paths: list[str]) -> None:
    """Nothing is bound."""
    answer = edge.put(FAULT, json=body)
    assert answer.status_code == 422
    assert sorted(each["path"] for each in answer.json()["errors"]) == paths
    assert edge.get(FAULT).status_code == 404


def test_faults_have_preconditions(edge: httpx.Client) -> None:
    """If-Match is the endpoint's tag; If-None-Match: * sets a fault only where there is none."""
    tag = edge.get(f"{ENDPOINTS}/pay").headers["etag"]
    fault = {"profile": "slow"}
    assert edge.put(FAULT, json=fault, headers={"If-Match": '"1"'}).status_code == 412
    assert edge.put(FAULT, json=fault, headers={"If-Match": tag, "If-None-Match": "*"}).status_code == 201
    assert edge.put(FAULT, json=fault, headers={"If-None-Match": "*"}).status_code == 412
    assert edge.delete(FAULT, headers={"If-Match": tag}).status_code == 412
    edge.delete(FAULT)
    assert edge.put(FAULT, json=fault, headers={"If-None-Match": "*"}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/fleets/nope/endpoints"),
        ("PUT", "/api/v1/fleets/nope/endpoints/pay"),
        ("POST", "/api/v1/fleets/nope/endpoints"),
        ("PUT", "/api/v1/fleets/nope/endpoints-order"),
        ("GET", "/api/v1/fleets/nope/endpoints/pay"),
        ("DELETE", "/api/v1/fleets/edge/endpoints/nope"),
        ("GET", "/api/v1/fleets/edge/endpoints/nope/fault"),
        ("PUT", "/api/v1/fleets/edge/endpoints/nope/fault"),
        ("DELETE", "/api/v1/fleets/edge/endpoints/nope/fault"),
    ],
)
def test_unknown_fleets_and_endpoints_are_404(edge: httpx.Client, method: str, path: str) -> None:
    """For every call below them, with what there is."""
    bodies: dict[str, Any] = {"PUT": {"profile": "slow"}, "POST": endpoint("pay")}
    body = (
        ["pay"]
        if path.endswith("order")
        else endpoint("pay")
        if path.endswith("nope/endpoints/pay")
        else None
    )
    content = body or bodies.get(method)
    answer = edge.request(method, path, json=content) if method in bodies else edge.request(method, path)
    assert answer.status_code == 404, answer.text
    assert ("edge" if "/nope/e" in path else "pay") in answer.json()["detail"]


def test_references_to_what_does_not_exist_are_422(edge: httpx.Client) -> None:
    """All of them at once."""
    body = endpoint("new", upstream="nowhere", fault={"profile": "nothing"})
    answer = edge.put(f"{ENDPOINTS}/new", json=body)
    assert answer.status_code == 422
    assert sorted(each["path"] for each in answer.json()["errors"]) == ["fault.profile", "upstream"]
