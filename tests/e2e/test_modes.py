"""Fleets whose Envoys keep a configuration of their own, with what `brownout bootstrap` prints."""

from pathlib import Path
from typing import Any

import pytest

from brownout_cli.addresses import Address
from brownout_cli.bootstrap import Example, NodeIdentity, bootstrap
from tests.e2e.stack import constant
from tests.support import (
    OLDER,
    REFERENCE,
    EnvoyProcess,
    ServerProcess,
    Upstream,
    cluster,
    exchange,
    free_port,
    route,
    wait_until,
)
from tests.support.bootstrap import manager_of

LOOPBACK = "127.0.0.1"
PROFILES = [{"name": "down", "spec": constant((503, "5ms"))}]


def example(upstream: Upstream) -> Example:
    return Example(listen=Address(LOOPBACK, 0), upstream=Address(LOOPBACK, upstream.port))


@pytest.mark.parametrize("protocol", ["delta", "sotw"])
@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_filter(tmp_path: Path, version: str, protocol: str) -> None:
    """An Envoy that gets only the filter serves without a control plane, and injects once there is one."""
    server = ServerProcess(tmp_path / "brownout.db")
    with Upstream() as upstream:
        options: dict[str, Any] = {"mode": "filter", "example": example(upstream), "protocol": protocol}
        with server.envoy("legacy", version=version, **options) as envoy:
            address = envoy.address()
            assert exchange(address, "GET", "/pay").status == 200
            with server:
                pay = {"name": "pay", "match": {"prefix": "/pay"}, "fault": {"profile": "down"}}
                fleet = {"name": "legacy", "mode": "filter", "endpoints": [pay]}
                server.apply({"profiles": PROFILES, "fleets": [fleet]})
                server.wait_converged("legacy", timeout=20)
                wait_until(lambda: exchange(address, "GET", "/pay/1?a=b").status == 503)
                assert exchange(address, "GET", "/other").header("x-fault-status") is None

                server.delete("fleets/legacy/endpoints/pay/fault")
                server.wait_converged("legacy")
                wait_until(lambda: exchange(address, "GET", "/pay").status == 200)
                assert envoy.stat("cluster_manager.cluster_modified") == 0


def test_filter_refuses_what_has_no_meaning(tmp_path: Path) -> None:
    """In a filter fleet an endpoint's upstream, timeout and retry are refused, each by its place."""
    with ServerProcess(tmp_path / "brownout.db") as server:
        server.put("fleets/legacy", {"mode": "filter"})
        server.put("upstreams/backend", {"hosts": [{"address": LOOPBACK, "port": 1}]})
        document = {"upstream": "backend", "timeout": "1s", "retry": {"retry_on": "5xx"}}
        answer = server.http.put("fleets/legacy/endpoints/pay", json=document)
        assert answer.status_code == 422
        assert {error["path"] for error in answer.json()["errors"]} == {"upstream", "timeout", "retry"}


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_a_route_enables_the_listeners_filter(version: str) -> None:
    """Mode `routes`: a listener without a control plane serves, and a route's fault enables its filter.

    Here it is alone, before a cluster without the filter.
    """
    node = NodeIdentity(id="n1", fleet="inner")
    with Upstream() as upstream:
        config = bootstrap(
            node, [Address(LOOPBACK, free_port())], mode="routes", example=example(upstream)
        ) | {"admin": {"address": {"socket_address": {"address": LOOPBACK, "port_value": 0}}}}
        del config["dynamic_resources"]["cds_config"]
        config["static_resources"]["clusters"].append(cluster(upstream.port))
        manager = manager_of(config)
        del manager["rds"]
        routes = [route("/pay", constant((503, "5ms"))), route()]
        hosts = [{"name": "all", "domains": ["*"], "routes": routes}]
        manager["route_config"] = {"name": "brownout", "virtual_hosts": hosts}
        with EnvoyProcess(config, version=version) as envoy:
            assert exchange(envoy.address(), "GET", "/pay").header("x-fault-status") == "503"
            answer = exchange(envoy.address(), "GET", "/")
            assert (answer.status, answer.header("x-fault-status")) == (200, None)


def test_routes(tmp_path: Path) -> None:
    """An Envoy with its own listener takes routes, clusters and faults from Brownout."""
    with Upstream() as upstream, ServerProcess(tmp_path / "brownout.db") as server:
        backend = {"name": "backend", "hosts": [{"address": LOOPBACK, "port": upstream.port}]}
        pay = {
            "name": "pay",
            "match": {"prefix": "/pay"},
            "upstream": "backend",
            "fault": {"profile": "down"},
        }
        rest = {"name": "rest", "upstream": "backend"}
        fleet = {"name": "inner", "mode": "routes", "endpoints": [pay, rest]}
        server.apply({"profiles": PROFILES, "upstreams": [backend], "fleets": [fleet]})
        with server.envoy("inner", mode="routes", example=example(upstream)) as envoy:
            server.wait_converged("inner")
            assert exchange(envoy.address(), "GET", "/pay").status == 503
            assert exchange(envoy.address(), "GET", "/").status == 200
