"""Everything at once: export, plan, apply."""

import json
from typing import Any

import httpx

from brownout.profile import parse_document
from tests.api.samples import CONFIGURATION, PROFILE, SPEC
from tests.api.serving import RestServer


def _changes(answer: httpx.Response) -> list[tuple[str, str, str]]:
    assert answer.status_code == 200, answer.text
    return [(each["action"], each["kind"], each["key"]) for each in answer.json()["changes"]]


ALL = [
    ("create", "profile", "slow"),
    ("create", "upstream", "payments"),
    ("create", "fleet", "edge"),
    ("create", "endpoint", "edge/pay"),
    ("create", "endpoint", "edge/rest"),
]


def test_plan_shows_what_apply_then_does(rest: RestServer) -> None:
    """A plan changes nothing; applying twice changes nothing more."""
    planned = rest.http.post("/api/v1/config/plan", json=CONFIGURATION)
    assert sorted(_changes(planned)) == sorted(ALL)
    assert planned.json()["revision"] == 0
    assert rest.service.catalog.revision == 0
    applied = rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    assert _changes(applied) == _changes(planned)
    assert applied.json()["revision"] == len(ALL)
    again = rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    assert again.json() == {"revision": len(ALL), "changes": []}


def test_an_export_applied_changes_nothing(rest: RestServer) -> None:
    """As YAML, the default, and as JSON."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    as_yaml = rest.http.get("/api/v1/config")
    assert as_yaml.headers["content-type"].startswith("application/yaml")
    assert as_yaml.headers["etag"] == '"5"'
    as_json = rest.http.get("/api/v1/config", headers={"Accept": "application/json"})
    assert as_json.headers["content-type"] == "application/json"
    assert parse_document(as_yaml.content) == as_json.json()
    assert rest.http.get("/api/v1/config", headers={"If-None-Match": '"5"'}).status_code == 304
    for content, media_type in ((as_yaml.content, "application/yaml"), (as_json.content, "application/json")):
        again = rest.http.post(
            "/api/v1/config/apply",
            params={"prune": "true"},
            content=content,
            headers={"Content-Type": media_type},
        )
        assert _changes(again) == []


def test_only_prune_deletes(rest: RestServer) -> None:
    """What the configuration does not name stays, unless it is asked for."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    rest.http.put("/api/v1/profiles/extra", json={"spec": SPEC})
    assert _changes(rest.http.post("/api/v1/config/apply", json=CONFIGURATION)) == []
    pruned = rest.http.post("/api/v1/config/apply", params={"prune": "true"}, json=CONFIGURATION)
    assert _changes(pruned) == [("delete", "profile", "extra")]
    assert rest.http.get("/api/v1/profiles/extra").status_code == 404


def test_one_error_and_nothing_is_applied(rest: RestServer) -> None:
    """Every fault with its path in the whole document."""
    wrong: dict[str, Any] = json.loads(json.dumps(CONFIGURATION))
    wrong["profiles"].append({"name": "bad", "spec": {"responses": [{"status": 1}]}})
    wrong["fleets"][0]["endpoints"][1]["upstream"] = 5
    for call in ("plan", "apply"):
        answer = rest.http.post(f"/api/v1/config/{call}", json=wrong)
        assert answer.status_code == 422
        paths = {each["path"] for each in answer.json()["errors"]}
        assert {
            "profiles[1].spec.responses[0].status",
            "profiles[1].spec.responses[0].resolution",
            "profiles[1].spec.responses[0].distribution",
            "fleets[0].endpoints[1].upstream",
        } <= paths
    assert rest.service.catalog.revision == 0


def test_a_large_configuration_is_read(rest: RestServer) -> None:
    """More than one entity may be: these profiles are over 1 MiB."""
    profiles = [{**PROFILE, "name": f"p{index}", "description": "x" * 2000} for index in range(600)]
    body = json.dumps({"profiles": profiles}).encode()
    assert len(body) > 1 << 20
    answer = rest.http.post("/api/v1/config/plan", content=body, headers={"Content-Type": "application/json"})
    assert len(_changes(answer)) == 600
