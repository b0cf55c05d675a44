"""The filter-level `endpoints[]`: which entry a request gets."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import always, faults, response


def entry(status: int, **match: object) -> dict[str, Any]:
    """An entry that is recognised by its status."""
    return always(status) | ({"match": match} if match else {})


def header(name: str, value: str | None = None) -> dict[str, Any]:
    """A header condition: an exact value, or presence."""
    return {"name": name, "present_match": True} if value is None else {"name": name, "exact_match": value}


ENDPOINTS = [
    entry(401, prefix="/first"),
    entry(402, prefix="/first"),
    entry(403, exact="/exact"),
    entry(404, prefix="/query?x="),
    entry(405, exact="/both", headers=[header("x-tenant", "a")]),
    entry(406, prefix="/both", headers=[header("x-tenant"), header("X-Kind", "k")]),
    entry(407, headers=[header("host", "other.example")]),
    entry(409, exact="/method", headers=[header(":method", "POST")]),
    entry(410, prefix="/mixed", headers=[header("x-Mixed", "MiXed")]),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


@pytest.fixture(scope="module", params=["upstream", "downstream", "both"])
def address(upstream: Upstream, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    config = static_bootstrap(
        upstream.port, filter_config={"endpoints": ENDPOINTS}, position=str(request.param)
    )
    with EnvoyProcess(config) as envoy:
        yield envoy.address()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/first", {}, 401),  # the first of two that match
        ("/first/deeper", {}, 401),
        ("/firstborn", {}, 401),  # a prefix is a prefix, not a path segment
        ("/fir", {}, 200),
        ("/exact", {}, 403),
        ("/exact?with=query", {}, 403),  # exact compares the path without its query
        ("/exact?", {}, 403),
        ("/exact/deeper", {}, 200),
        ("/exac", {}, 200),
        ("/Exact", {}, 200),  # paths compare with case
        ("/query?x=1", {}, 404),  # prefix compares the whole path
        ("/query?y=1", {}, 200),
        ("/both", {"x-tenant": "a"}, 405),
        ("/both", {"x-tenant": "b"}, 200),
        ("/both", {"x-tenant": "b", "x-kind": "k"}, 406),  # all conditions hold
        ("/both", {"x-tenant": "", "x-kind": "k"}, 406),  # an empty value is present
        ("/both", {"x-kind": "k"}, 200),
        ("/both", {"x-tenant": "b", "x-kind": "K"}, 200),  # values compare with case
        ("/anything", {"host": "other.example"}, 407),  # host is :authority
        ("/method", {}, 200),
        ("/mixed", {"x-MIXED": "MiXed"}, 410),  # names compare without case
        ("/mixed", {"x-mixed": "mixed"}, 200),
        ("/nothing", {}, 200),
    ],
)
def test_matching(address: tuple[str, int], path: str, headers: dict[str, str], status: int) -> None:
    """Entries are tried in order, and each condition decides as its field says."""
    answer = exchange(address, path=path, headers=headers.items())
    assert answer.status == status
    assert bool(faults(answer)) is (status != 200)


def test_a_repeated_request_header_matches_by_any_value(address: tuple[str, int]) -> None:
    """Of several values of one name, one that equals is enough."""
    answer = exchange(address, path="/both", headers=[("x-tenant", "b"), ("x-tenant", "a")])
    assert answer.status == 405


def test_methods_match_by_pseudo_header(address: tuple[str, int]) -> None:
    """A condition may name a pseudo-header."""
    assert exchange(address, "POST", "/method").status == 409


def serve(upstream: Upstream, config: dict[str, Any], path: str = "/") -> int:
    """The status that a filter-level configuration gives a path."""
    with EnvoyProcess(static_bootstrap(upstream.port, filter_config=config)) as envoy:
        return exchange(envoy.address(), path=path).status


@pytest.mark.parametrize("match", [{}, {"headers": []}])
def test_an_empty_match_is_for_all(upstream: Upstream, match: dict[str, Any]) -> None:
    """A match without conditions, or none at all, matches every request."""
    assert serve(upstream, {"endpoints": [always(418) | {"match": match}]}) == 418
    assert serve(upstream, {"endpoints": [always(418)]}) == 418


def test_an_empty_list_injects_nothing(upstream: Upstream) -> None:
    """`endpoints: []` is valid, and means nothing."""
    assert serve(upstream, {"endpoints": []}) == 200


def test_the_direct_shape_is_for_all(upstream: Upstream) -> None:
    """A filter-level configuration may have one behaviour for every request."""
    assert serve(upstream, always(418), "/any/path?x") == 418


def test_defaults_of_the_list_apply_to_its_entries(upstream: Upstream) -> None:
    """`diagnostic` beside `endpoints` is every entry's, unless it states its own."""
    own = {"responses": [response(200)], "diagnostic": False, "match": {"prefix": "/own"}}
    config = {"endpoints": [own, {"responses": [response(200)]}], "diagnostic": True}
    with EnvoyProcess(static_bootstrap(upstream.port, filter_config=config)) as envoy:
        assert "x-fault-worker-index" in faults(exchange(envoy.address(), path="/other"))
        assert "x-fault-worker-index" not in faults(exchange(envoy.address(), path="/own"))


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
@pytest.mark.parametrize(
    "rewrite",
    [
        {"prefix_rewrite": "/internal"},
        {"regex_rewrite": {"pattern": {"regex": "^/public"}, "substitution": "/internal"}},
    ],
)
def test_the_path_of_the_client_decides(
    upstream: Upstream, rewrite: dict[str, Any], position: str, version: str
) -> None:
    """Only where no filter has seen that, in the cluster alone, it is the one that goes upstream."""
    config = static_bootstrap(
        upstream.port,
        routes=[route("/public", **rewrite)],
        filter_config={"endpoints": [entry(418, prefix="/internal"), entry(409, prefix="/public")]},
        position=position,
    )
    with EnvoyProcess(config, version=version) as envoy:
        answer = exchange(envoy.address(), path="/public/x")
        assert answer.status == (418 if position == "upstream" else 409)
        assert upstream.requests[-1].path == "/internal/x"


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_the_host_of_the_client_decides(upstream: Upstream, position: str) -> None:
    """So it is with a host that the route rewrites."""
    hosts = [
        entry(418, headers=[header("host", "internal.example")]),
        entry(409, headers=[header("host", "test")]),
    ]
    config = static_bootstrap(
        upstream.port,
        routes=[route("/", host_rewrite_literal="internal.example")],
        filter_config={"endpoints": hosts},
        position=position,
    )
    with EnvoyProcess(config) as envoy:
        assert exchange(envoy.address()).status == (418 if position == "upstream" else 409)
