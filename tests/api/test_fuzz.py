"""Whatever is sent: a problem, never a fault of the server, and nothing invalid stored."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.samples import CONFIGURATION, FLEET, PROFILE, SPEC, UPSTREAM, endpoint
from tests.api.serving import RestServer


@pytest.fixture(scope="module", autouse=True)
def _configured(shared: RestServer) -> None:
    shared.http.post("/api/v1/config/apply", json=CONFIGURATION)


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["10ms", "-1s", "p50", "*", "/x", "1e999", "slow", "2030-01-01T00:00:00Z", "\x00", "\ud800"]
    )
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
)

_TARGETS: list[tuple[str, str, Any]] = [
    ("PUT", "/api/v1/profiles/fuzz", PROFILE | {"name": "fuzz"}),
    ("POST", "/api/v1/profiles/validate", SPEC),
    ("POST", "/api/v1/profiles/slow/rollback", {"revision": 1}),
    ("PUT", "/api/v1/upstreams/fuzz", UPSTREAM | {"name": "fuzz"}),
    ("PUT", "/api/v1/fleets/fuzz", FLEET | {"name": "fuzz"}),
    (
        "PUT",
        "/api/v1/fleets/edge/endpoints/fuzz",
        endpoint("fuzz", retry={"retry_on": "5xx"}, fault={"profile": "slow"}),
    ),
    (
        "PUT",
        "/api/v1/fleets/edge/endpoints/pay/fault",
        {"profile": "slow", "for": "1m", "nodes": {"ids": ["a"]}},
    ),
    ("PUT", "/api/v1/fleets/edge/endpoints-order", {"endpoints": ["pay", "rest"]}),
    ("POST", "/api/v1/config/plan", CONFIGURATION),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _places(each, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def _requests(draw: st.DrawFn) -> tuple[str, str, Any]:
    """A good body with one place of it replaced, or an unknown field added."""
    method, path, body = draw(st.sampled_from(_TARGETS))
    place = draw(st.sampled_from(list(_places(body))))
    return method, path, _replaced(body, place, draw(_VALUES))


def _check(answer: Any) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        problem = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["status"] == answer.status_code
        assert problem["detail"]
        assert all(isinstance(each["path"], str) and each["message"] for each in problem["errors"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=_requests(), yaml=st.booleans())
def test_any_json_body_gets_an_answer(shared: RestServer, request: tuple[str, str, Any], yaml: bool) -> None:
    """A place of a good body replaced by anything: accepted or a problem. JSON is YAML too."""
    method, path, body = request
    order = path.endswith(("order", "rollback"))
    media_type = "application/yaml" if yaml and not order else "application/json"
    content = json.dumps(body).encode()
    _check(shared.http.request(method, path, content=content, headers={"Content-Type": media_type}))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_get_an_answer(shared: RestServer, content: bytes) -> None:
    """As JSON and as YAML."""
    for media_type in ("application/json", "application/yaml"):
        answer = shared.http.put(
            "/api/v1/profiles/fuzz", content=content, headers={"Content-Type": media_type}
        )
        assert 400 <= answer.status_code < 500
        _check(answer)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(
        ["If-Match", "If-None-Match", "Accept", "Content-Type", "Last-Event-ID", "Origin", "Content-Encoding"]
    ),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    path=st.sampled_from(
        ["/api/v1/profiles/slow", "/api/v1/config", "/api/v1/fleets/edge/endpoints/pay/fault"]
    ),
)
def test_any_header_gets_an_answer(shared: RestServer, name: str, value: str, path: str) -> None:
    """For reads and writes."""
    _check(shared.http.get(path, headers={name: value.strip()}))
    _check(shared.http.delete(f"{path}x", headers={name: value.strip()}))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(min_size=1, max_size=12), value=st.text(max_size=12))
def test_any_name_and_query_get_an_answer(shared: RestServer, name: str, value: str) -> None:
    """In the path and in the query."""
    path = f"/api/v1/profiles/x{quote(name.encode('utf-8', 'replace'), safe='')}"
    _check(shared.http.get(path))
    _check(
        shared.http.get("/api/v1/nodes", params={"cursor": value.encode("utf-8", "replace"), "limit": "1"})
    )


def test_nothing_that_was_accepted_is_invalid(shared: RestServer) -> None:
    """What the examples have left can be exported and applied again."""
    exported = shared.http.get("/api/v1/config", headers={"Accept": "application/json"})
    again = shared.http.post("/api/v1/config/apply", json=exported.json())
    assert again.status_code == 200, again.text
    assert again.json()["changes"] == []
