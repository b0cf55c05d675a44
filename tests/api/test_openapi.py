"""The OpenAPI document is complete and true."""

from pathlib import Path
from typing import Any, get_args

import pytest
from prometheus_client import CollectorRegistry
from pydantic import BaseModel

from api import create_app
from api.schemas import endpoint, fleet, profile, revision, upstream
from api.schemas.base import Schema
from brownout import domain
from brownout import profile as language
from tests.api.samples import CONFIGURATION
from tests.api.serving import RestServer

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"


def _document() -> dict[str, Any]:
    nothing: Any = None
    app = create_app(nothing, nothing, nothing, registry=CollectorRegistry(), version="1")
    return app.openapi()


def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, item in _document()["paths"].items()
        for method, operation in item.items()
    ]


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*(_references(each) for each in value.values()))
    if isinstance(value, list):
        return set[str]().union(*(_references(each) for each in value))
    return set()


def test_every_route_is_documented_for_people_too() -> None:
    """docs/reference/rest.md names each method and path."""
    text = DOCS.read_text()
    missing = [f"{method} {path}" for method, path, _ in _operations() if f"`{method} {path}`" not in text]
    assert missing == []


def test_every_reference_leads_somewhere() -> None:
    """No schema is missing."""
    document = _document()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert _references(document) <= known


@pytest.mark.parametrize(("method", "path", "operation"), _operations(), ids=lambda each: str(each)[:60])
def test_every_operation_says_what_it_takes_and_gives(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    """Summary, description, a body for PUT, an answer with content, problems."""
    assert operation["summary"]
    assert operation["description"]
    assert len(operation["tags"]) == 1
    if method == "PUT":
        assert operation["requestBody"]["content"]
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, answer in operation["responses"].items():
        if status == "default" or status >= "400":
            assert answer["content"] == problem
        elif status not in {"204", "304"}:
            assert answer["content"]
            assert all(each["schema"] for each in answer["content"].values())
    assert "default" in operation["responses"]


def test_operation_ids_are_unique() -> None:
    """Generated clients need that."""
    ids = [operation["operationId"] for _, _, operation in _operations()]
    assert len(ids) == len(set(ids))


def test_it_is_served(rest: RestServer) -> None:
    """With its version; it asks for nothing from elsewhere."""
    served = rest.http.get("/api/v1/openapi.json")
    assert served.status_code == 200
    assert served.json()["openapi"].startswith("3.1")
    assert served.json()["info"]["version"] == "0.1.0"


PAIRS: list[tuple[type[Schema], type[BaseModel]]] = [
    (profile.Profile, domain.Profile),
    (upstream.Upstream, domain.Upstream),
    (upstream.Host, domain.Host),
    (upstream.UpstreamTls, domain.UpstreamTls),
    (upstream.CircuitBreakers, domain.CircuitBreakers),
    (fleet.Fleet, domain.Fleet),
    (fleet.Listener, domain.Listener),
    (fleet.ListenerTls, domain.ListenerTls),
    (endpoint.Endpoint, domain.Endpoint),
    (endpoint.EndpointMatch, domain.EndpointMatch),
    (endpoint.Retry, domain.Retry),
    (endpoint.Fault, domain.Fault),
    (endpoint.NodeSelector, domain.NodeSelector),
    (endpoint.Locality, domain.Locality),
    (endpoint.HeaderMatch, language.HeaderMatch),
    (profile.ProfileSpec, language.Behavior),
    (profile.LoadBased, language.LoadBased),
    (profile.GreyZone, language.GreyZone),
    (profile.Tier, language.Tier),
    (profile.Response, language.Response),
    (profile.LocalResponse, language.LocalResponse),
    (profile.Header, language.Header),
]


@pytest.mark.parametrize(("schema", "entity"), PAIRS, ids=[schema.__name__ for schema, _ in PAIRS])
def test_the_documented_fields_are_those_of_the_model(schema: type[Schema], entity: type[BaseModel]) -> None:
    """Neither more nor fewer, required where the model requires them, with the model's plain defaults."""
    assert set(schema.model_fields) == set(entity.model_fields)
    for name, field in schema.model_fields.items():
        theirs = entity.model_fields[name]
        if entity.__module__.startswith("brownout.domain"):
            assert field.is_required() == theirs.is_required(), name
        if isinstance(theirs.default, bool | int | str | None) and isinstance(
            field.default, bool | int | str
        ):
            plain = isinstance(field.default, bool) or not isinstance(theirs.default, int)
            assert not plain or field.default == theirs.default, name


def test_the_documented_actions_and_kinds_are_those_of_revisions() -> None:
    """An audit trail has no others."""
    for name, known in (("action", domain.Action), ("kind", domain.Kind)):
        assert get_args(revision.Revision.model_fields[name].annotation) == get_args(known)


def test_answers_are_what_the_document_says(rest: RestServer) -> None:
    """Every model that is shown accepts what is really shown."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    rest.http.put(
        "/api/v1/fleets/edge/endpoints/pay/fault", json={"profile": "slow", "nodes": {"ids": ["a"]}}
    )
    rest.soon(lambda: rest.nodes.put("edge", "a", 4, rejected=True))
    models = {each.__name__: each for each in _all(Schema)}
    shown = 0
    for method, template, operation in _operations():
        path = template.replace("{fleet}", "edge")
        path = path.replace(
            "{name}", "pay" if "endpoints" in path else "slow" if "profiles" in path else "payments"
        )
        content = operation["responses"].get("200", {}).get("content", {}).get("application/json")
        if method != "GET" or content is None:
            continue
        answer = rest.http.get(path, headers={"Accept": "application/json"})
        assert answer.status_code == 200, (path, answer.text)
        models[content["schema"]["$ref"].rpartition("/")[2]].model_validate(answer.json())
        shown += 1
    assert shown >= 15


def _all(model: type[Schema]) -> set[type[Schema]]:
    return {model}.union(*(_all(each) for each in model.__subclasses__()))
