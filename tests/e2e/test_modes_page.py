"""docs/how-to/modes.md: what it shows to be added to an Envoy works on every version."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from brownout_cli.addresses import Address
from brownout_cli.bootstrap import NodeIdentity, bootstrap
from tests.e2e.stack import constant
from tests.support import OLDER, REFERENCE, EnvoyProcess, ServerProcess, Upstream, exchange
from tests.support.bootstrap import manager_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "modes.md"
ROUTES, FILTER, REPEATED, IN_ROUTER = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text())
OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
PROFILES = [{"name": "down", "spec": constant((503, "5ms"))}]
VERSIONS = pytest.mark.parametrize("version", [REFERENCE, *OLDER])
FLEET = "inner"


def parsed(snippet: str) -> Any:
    return YAML(typ="safe", pure=True).load(snippet)


def printed(server: ServerProcess, mode: Any) -> dict[str, Any]:
    """What `brownout bootstrap` prints, with the example's listener on a free port."""
    node = NodeIdentity(id="n1", fleet=FLEET)
    config = bootstrap(node, [server.xds], mode=mode, admin=Address("127.0.0.1", 0))
    config["static_resources"]["listeners"][0]["address"]["socket_address"]["port_value"] = 0
    return config


def plain_filter_text(server: ServerProcess, upstream: Upstream) -> str:
    """The page's snippet of mode `filter`, as text, and around it what it says to copy from the printed."""
    config = printed(server, "filter")
    snippet = FILTER.replace("port_value: 10000", "port_value: 0")
    snippet = snippet.replace("port_value: 9000", f"port_value: {upstream.port}")
    xds = config["static_resources"]["clusters"][0]
    rest = {"node": config["node"], "admin": config["admin"]}
    return f"{snippet}  - {json.dumps(xds)}\n" + "".join(f"{k}: {json.dumps(v)}\n" for k, v in rest.items())


def way_out(snippet: str, config: dict[str, Any]) -> None:
    """Change a configuration of mode `filter` as one of the two snippets says."""
    manager, cluster = manager_of(config), config["static_resources"]["clusters"][0]
    ours = manager["http_filters"][0]
    # The page's alias is for within one file.
    filters = parsed(f"ours: &brownout {json.dumps(ours)}\n{snippet}")["http_filters"]
    if snippet == REPEATED:
        cluster["typed_extension_protocol_options"][OPTIONS]["http_filters"] = filters
        manager["http_filters"][-1]["typed_config"]["upstream_http_filters"] = filters[1:]
    else:
        del cluster["typed_extension_protocol_options"][OPTIONS]["http_filters"]
        manager["http_filters"] = filters


@contextmanager
def serving(folder: Path, upstream: Upstream, mode: str, version: str, change: Any) -> Iterator[EnvoyProcess]:
    """A control plane with a fault on /pay, and an Envoy whose configuration `change` makes."""
    pay: dict[str, Any] = {"name": "pay", "match": {"prefix": "/pay"}, "fault": {"profile": "down"}}
    rest: dict[str, Any] = {"name": "rest"}
    upstreams = []
    if mode == "routes":
        upstreams = [{"name": "backend", "hosts": [{"address": "127.0.0.1", "port": upstream.port}]}]
        pay, rest = pay | {"upstream": "backend"}, rest | {"upstream": "backend"}
    fleet = {"name": FLEET, "mode": mode, "endpoints": [pay, rest]}
    with ServerProcess(folder / "brownout.db") as server:
        server.apply({"profiles": PROFILES, "upstreams": upstreams, "fleets": [fleet]})
        with EnvoyProcess(change(server), version=version) as envoy:
            server.wait_converged(FLEET)
            yield envoy


def statuses(envoy: EnvoyProcess) -> dict[str, int]:
    return {path: exchange(envoy.address(), "GET", path).status for path in ("/pay", "/other")}


def updates(envoy: EnvoyProcess) -> Mapping[str, int | str]:
    """Which kinds of filters have had their configuration from the control plane."""
    found = envoy.stats("^extension_config_discovery[.].*[.]update_success$")
    return {name.split(".")[1]: value for name, value in found.items()}


@VERSIONS
def test_routes(tmp_path: Path, version: str) -> None:
    """Mode `routes`: a connection manager with the page's lines, and the clusters of the control plane."""

    def change(server: ServerProcess) -> dict[str, Any]:
        config = printed(server, "routes")
        manager = manager_of(config)
        del manager["rds"], manager["http_filters"]
        manager.update(parsed(ROUTES))
        return config

    with Upstream() as upstream, serving(tmp_path, upstream, "routes", version, change) as envoy:
        assert statuses(envoy) == {"/pay": 503, "/other": 200}
        assert updates(envoy).keys() == {"http_filter", "upstream_http_filter"}


@VERSIONS
def test_routes_without_the_listeners_filter(tmp_path: Path, version: str) -> None:
    """A connection manager that lacks the filter takes the routes, and the clusters' filter injects."""

    def change(server: ServerProcess) -> dict[str, Any]:
        config = printed(server, "routes")
        del manager_of(config)["http_filters"][0]
        return config

    with Upstream() as upstream, serving(tmp_path, upstream, "routes", version, change) as envoy:
        assert statuses(envoy) == {"/pay": 503, "/other": 200}
        assert updates(envoy).keys() == {"upstream_http_filter"}
        assert envoy.stat("http.http.rds.brownout.update_rejected") == 0


@VERSIONS
def test_filter(tmp_path: Path, version: str) -> None:
    """Mode `filter`: the page's file, as it is, has the filter in both places."""
    path = tmp_path / "envoy.yaml"

    def change(server: ServerProcess) -> Path:
        path.write_text(plain_filter_text(server, upstream))
        return path

    with Upstream() as upstream, serving(tmp_path, upstream, "filter", version, change) as envoy:
        assert statuses(envoy) == {"/pay": 503, "/other": 200}
        assert updates(envoy).keys() == {"http_filter", "upstream_http_filter"}


@pytest.mark.parametrize("snippet", [REPEATED, IN_ROUTER], ids=["repeated", "in the router"])
@pytest.mark.parametrize(
    ("version", "listeners_filter"),
    [(REFERENCE, True), *((each, True) for each in OLDER), (REFERENCE, False)],
)
def test_ways_out(tmp_path: Path, version: str, snippet: str, listeners_filter: bool) -> None:
    """Both ways keep the router's own filters, and have ours in both places (or before the codec alone)."""

    def change(server: ServerProcess) -> dict[str, Any]:
        config: dict[str, Any] = parsed(plain_filter_text(server, upstream))
        way_out(snippet, config)
        if not listeners_filter:
            del manager_of(config)["http_filters"][0]
        return config

    with Upstream() as upstream, serving(tmp_path, upstream, "filter", version, change) as envoy:
        assert statuses(envoy) == {"/pay": 503, "/other": 200}
        assert [dict(request.headers)["x-tenant"] for request in upstream.requests] == ["shop", "shop"]
        places = {"http_filter", "upstream_http_filter"} if listeners_filter else {"upstream_http_filter"}
        assert updates(envoy).keys() == places


def test_a_clusters_list_replaces_the_routers(tmp_path: Path) -> None:
    """What the page warns of: with both lists the router's filters do nothing, and Envoy does not say so."""

    def change(server: ServerProcess) -> dict[str, Any]:
        config: dict[str, Any] = parsed(plain_filter_text(server, upstream))
        router = manager_of(config)["http_filters"][-1]["typed_config"]
        router["upstream_http_filters"] = parsed(f"ours: &brownout {{}}\n{REPEATED}")["http_filters"][1:]
        return config

    with Upstream() as upstream, serving(tmp_path, upstream, "filter", REFERENCE, change) as envoy:
        assert statuses(envoy) == {"/pay": 503, "/other": 200}
        assert [name for each in upstream.requests for name, _ in each.headers if name == "x-tenant"] == []
        assert "upstream_http_filters" not in envoy.log
