"""Requests that Envoy itself sends, from its main thread, through a cluster with the filter.

Envoy logs a bug of its own there: it asks for the worker's number whenever it makes a module's filter, and
the main thread has none.
"""

import json
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always

TYPE = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
ROUTES = {
    "version_info": "1",
    "resources": [
        {
            "@type": TYPE,
            "name": "brownout",
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route("/")]}],
        }
    ],
}


def polling(upstream: Upstream, config: dict[str, Any]) -> dict[str, Any]:
    """A bootstrap whose routes Envoy polls over REST from the cluster that `config` is injected in."""
    bootstrap = static_bootstrap(upstream.port, filter_config=config)
    manager = bootstrap["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    del manager["route_config"]
    rest = {
        "api_type": "REST",
        "transport_api_version": "V3",
        "cluster_names": ["upstream"],
        "refresh_delay": "0.05s",
        "request_timeout": "5s",
    }
    source = {"resource_api_version": "V3", "api_config_source": rest}
    manager["rds"] = {"route_config_name": "brownout", "config_source": source}
    return bootstrap


@pytest.fixture
def upstream() -> Upstream:
    answer = Behaviour(headers=(("content-type", "application/json"),), body=json.dumps(ROUTES).encode())
    return Upstream({"/v3/discovery:routes": answer})


def test_a_poll_is_delayed(upstream: Upstream, version: str) -> None:
    """It is held like any request."""
    config = always(200, "30ms", diagnostic=True)
    with upstream, EnvoyProcess(polling(upstream, config), version=version) as envoy:
        envoy.wait_stat("cluster.upstream.brownout.delayed_2xx", 3)
        assert exchange(envoy.address()).status == 200


@pytest.mark.parametrize("latency", ["0s", "30ms"])
@pytest.mark.parametrize("override", ["local_response", "upstream_response"])
def test_a_poll_is_failed(upstream: Upstream, latency: str, override: str) -> None:
    """A forced status fails it, and leaves nothing in flight."""
    config = always(503, latency, override=override, percent=50)
    with upstream, EnvoyProcess(polling(upstream, config), wait="admin") as envoy:
        envoy.wait_stat("http.http.rds.brownout.update_failure", 2)
        envoy.wait_stat("http.http.rds.brownout.update_success", 1)
        wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
