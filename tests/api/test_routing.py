"""Requests that are not for a route, and guards around all of them."""

from pathlib import Path

import httpx
import pytest

from tests.api.samples import FLEET, PROFILE
from tests.api.serving import RestServer


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/api/v1/", "/api/v1/profile", "/api/v1/profiles/", "/x", "/docs"]
)
def test_unknown_paths_are_problems(shared: RestServer, path: str) -> None:
    """Never HTML, never a redirect."""
    answer = shared.http.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert path in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/api/v1/profiles", "GET, HEAD, POST"),
        ("PATCH", "/api/v1/profiles/slow", "DELETE, GET, HEAD, PUT"),
        ("GET", "/api/v1/halt", "POST"),
        ("HEAD", "/api/v1/halt", "POST"),
        ("POST", "/api/v1/fleets/edge/endpoints/pay/fault", "DELETE, GET, HEAD, PUT"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_other_methods_are_405_with_all_that_are_allowed(
    shared: RestServer, method: str, path: str, allow: str
) -> None:
    """`Allow` has the methods of every route of the path."""
    answer = shared.http.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allow


def test_unknown_query_parameters_are_refused(shared: RestServer) -> None:
    """A typing error does not become a different question."""
    answer = shared.http.get("/api/v1/profiles?limt=3&limit=2&limit=3")
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["errors"]] == ["limt", "limit"]
    assert shared.http.put("/api/v1/profiles/slow?dry=1", json=PROFILE).status_code == 422
    assert shared.http.get("/api/v1/profiles/slow").status_code == 404
    assert shared.http.get("/healthz?x=1").status_code == 422


def test_only_loopback_names_are_served(shared: RestServer) -> None:
    """DNS rebinding and forms of other sites get 403; nothing is changed."""
    rebound = shared.http.get("/api/v1/profiles", headers={"Host": "evil.example"})
    assert (rebound.status_code, rebound.headers["content-type"]) == (403, "application/problem+json")
    assert shared.http.get("/healthz", headers={"Host": "evil.example"}).status_code == 403
    shared.http.put("/api/v1/fleets/edge", json=FLEET)
    forged = shared.http.post("/api/v1/fleets/edge/halt", headers={"Origin": "https://evil.example"})
    assert forged.status_code == 403
    assert not shared.service.catalog.halted("edge")
    assert shared.http.post("/api/v1/fleets/edge/halt", headers={"Origin": shared.url}).status_code == 200


def test_other_names_are_served_where_that_is_wanted(tmp_path: Path) -> None:
    """With credentials the guard is off."""
    with RestServer(tmp_path, loopback_only=False) as server:
        assert server.http.get("/healthz", headers={"Host": "brownout.example"}).status_code == 200


def test_a_fault_of_the_server_is_a_problem_without_details(
    shared: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 says where to look, and nothing of what it was."""

    def broken(**_: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(shared.service, "list_profiles", broken)
    answer = shared.http.get("/api/v1/profiles")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "hunter2" not in answer.text
    assert shared.http.get("/healthz").status_code == 200


def test_health_readiness_and_metrics_stand_at_both_places(
    shared: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes look at the root, clients of the API under its prefix."""
    for prefix in ("", "/api/v1"):
        assert shared.http.get(f"{prefix}/healthz").json() == {"status": "ok"}
        assert shared.http.get(f"{prefix}/readyz").json() == {"status": "ready", "checks": {"store": True}}
        metrics = shared.http.get(f"{prefix}/metrics")
        assert metrics.headers["content-type"].startswith("text/plain")
        assert "brownout_pushes_total 1.0" in metrics.text
    monkeypatch.setitem(shared.ready, "xds", False)
    waiting = shared.http.get("/readyz")
    assert waiting.status_code == 503
    assert waiting.json()["errors"] == [{"path": "xds", "message": "not ready"}]


def test_nonsense_on_the_wire_does_not_disturb(shared: RestServer) -> None:
    """Percent-encoded slashes and controls are names that do not exist."""
    for path in (
        "/api/v1/profiles/a%2Fb",
        "/api/v1/profiles/%00",
        "/api/v1/profiles/%ff",
        "/api/v1/profiles/ä",
    ):
        answer = httpx.get(shared.url + path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
