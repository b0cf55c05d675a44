"""Requests that no client sent: Envoy's own calls, which are drawn, and mirrored copies, which are not."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.discovery import discovered_filter, write_filter
from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    EnvoyProcess,
    RawResponse,
    Upstream,
    cluster,
    exchange,
    manager_of,
    module_filter,
    route,
    static_bootstrap,
)
from tests.support.bootstrap import TYPE

from .survivors import TRAILERS, Envoys, cluster_counter, surviving, wait_held

HTTP = "envoy.extensions.filters.http"
POSITIONS = ("upstream", "both")
COUNTED = ("injected_5xx", "delayed_2xx", "delayed_5xx", "expired_2xx", "released", "relayed", "in_flight")


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


TOKEN = ".".join(map(encoded, (b'{"alg": "RS256", "kid": "a"}', b'{"iss": "me"}', b"x" * 256)))
URI = {"uri": "http://service/", "cluster": "service", "timeout": "100s"}
CALLERS: dict[str, dict[str, Any]] = {
    "ext_authz": {
        "name": "envoy.filters.http.ext_authz",
        "typed_config": {
            "@type": f"{TYPE}{HTTP}.ext_authz.v3.ExtAuthz",
            "http_service": {"server_uri": URI},
        },
    },
    "jwt": {
        "name": "envoy.filters.http.jwt_authn",
        "typed_config": {
            "@type": f"{TYPE}{HTTP}.jwt_authn.v3.JwtAuthentication",
            "providers": {"me": {"issuer": "me", "remote_jwks": {"http_uri": URI}}},
            "rules": [{"match": {"prefix": "/"}, "requires": {"provider_name": "me"}}],
        },
    },
    "lua": {
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": f"{TYPE}{HTTP}.lua.v3.Lua",
            "default_source_code": {
                "inline_string": """
                    function envoy_on_request(handle)
                      local headers, body = handle:httpCall("service",
                        {[":method"] = "GET", [":path"] = "/", [":authority"] = "service"}, "", 100000)
                      handle:headers():add("x-called", headers[":status"])
                    end
                """
            },
        },
    },
}
AFTER_SUCCESS = {"ext_authz": 200, "jwt": 401, "lua": 200}  # the key set is empty


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream({"/": Behaviour(body=b'{"keys": []}')}) as server:
        yield server


@pytest.fixture(params=POSITIONS)
def position(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def calling(caller: str, upstream: Upstream, position: str, its_filter: dict[str, Any]) -> dict[str, Any]:
    """A bootstrap whose listener calls the cluster `service`, which has a filter of its own."""
    config = static_bootstrap(upstream.port, routes=[route("/served")], position=position)
    manager_of(config)["http_filters"].insert(0, CALLERS[caller])
    config["static_resources"]["clusters"].append(
        cluster(upstream.port, name="service", filters=[its_filter])
    )
    return config


def ask(envoy: EnvoyProcess) -> RawResponse:
    headers = [("authorization", f"Bearer {TOKEN}")]
    return exchange(envoy.address(), path="/served", headers=headers)


def test_calls_are_drawn(envoys: Envoys, upstream: Upstream, position: str, caller: str) -> None:
    """A call to a cluster that has a configuration of its own gets what that says."""
    config = calling(caller, upstream, position, module_filter(always(503, "20ms")))
    with envoys.on(config) as envoy:
        answer = ask(envoy)
        assert answer.status == {"ext_authz": 403, "jwt": 401, "lua": 200}[caller]
        assert cluster_counter(envoy, "injected_5xx", "service") == 1
        assert cluster_counter(envoy, "delayed_5xx", "service") == 1


@pytest.mark.parametrize(
    "behaviour",
    [Behaviour(body=b'{"keys": []}'), Behaviour(body=b'{"keys": []}' + b" " * 200_000, trailers=TRAILERS)],
    ids=["plain", "trailers"],
)
def test_a_halt_releases_calls(
    upstream: Upstream, version: str, position: str, caller: str, *, tmp_path: Path, behaviour: Behaviour
) -> None:
    """Nobody waits for the minute that was drawn."""
    upstream["/"] = behaviour
    file = tmp_path / "filter.json"
    write_filter(file, always(200, "60s") | {"halted": False}, "1")
    its_filter = {name: value for name, value in discovered_filter(file).items() if name != "disabled"}
    config = calling(caller, upstream, position, its_filter)
    with (
        EnvoyProcess(config, version=version) as process,
        surviving(process) as envoy,
        ThreadPoolExecutor() as pool,
    ):
        asked = pool.submit(ask, envoy)
        wait_held(envoy)
        write_filter(file, always(200, "60s") | {"halted": True}, "2")
        assert asked.result().status == AFTER_SUCCESS[caller]
        assert cluster_counter(envoy, "released", "service") == 1


@pytest.mark.parametrize("status", [200, 503])
def test_mirrored_copies_count_nowhere(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, status: int
) -> None:
    """A copy draws nothing, is not delayed and is not in flight, whatever its cluster is configured with."""
    action = {"request_mirror_policies": [{"cluster": "shadow"}]}
    routes = [route("/served", always(200, "20ms"), **action)]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=to_http2)
    rule = module_filter(always(status, "20ms"))
    config["static_resources"]["clusters"].append(
        cluster(upstream.port, name="shadow", http2=to_http2, filters=[rule])
    )
    with envoys.on(config) as envoy:
        before = upstream.counts["/served"]
        for _ in range(5):
            assert exchange(envoy.address(), path="/served").status == 200
        upstream.wait_for(lambda server: server.counts["/served"] == before + 10)
        envoy.wait_none("cluster.shadow.upstream_rq_active")
        assert cluster_counter(envoy, "delayed_2xx") == 5
        assert [cluster_counter(envoy, name, "shadow") for name in COUNTED] == [0] * len(COUNTED)
        assert envoy.stat("cluster.shadow.upstream_rq_200") == 5
