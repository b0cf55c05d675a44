"""Compilation: what is built, what is built again, and what is carried on."""

import time
from typing import Any

import pytest
from envoy_data_plane.envoy.config.cluster.v3 import Cluster
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import RouteConfiguration
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import (
    HttpConnectionManager,
    HttpFilter,
)
from envoy_data_plane.envoy.extensions.upstreams.http.v3 import HttpProtocolOptions
from envoy_data_plane.google.protobuf import Any as Packed

from brownout.domain import Endpoint, Fleet
from brownout.profile import FilterConfig, filter_wire, load_filter_config
from tests.xds.world import SLOW, World, endpoint, gateway, profile, upstream
from xds_server import wire
from xds_server.compiler import Compiler
from xds_server.node import Node
from xds_server.program import Program
from xds_server.resources.route import route
from xds_server.types import CDS, ECDS, EDS, LDS, RDS

NODE = Node("n1", "edge", locality={"zone": "z1"}, metadata={"canary": True})


class Compilation:
    """A compiler, and how many routes it has built."""

    def __init__(self) -> None:
        self.world = World()
        self.compiler = Compiler()
        self.built: list[str] = []

    def __call__(self, *changes: Any, fleet: str = "edge", **more: Any) -> Program:
        self.world.change(*changes, fleet=fleet, **more)
        return self.compiler.compile(self.world.catalog, lambda _: [NODE], lambda _: False)[fleet]


@pytest.fixture
def compile_(monkeypatch: pytest.MonkeyPatch) -> Compilation:
    compilation = Compilation()

    def counted(entry: Endpoint) -> bytes:
        compilation.built.append(entry.name)
        return route(entry)

    monkeypatch.setattr("xds_server.entries.route", counted)
    return compilation


def routes(program: Program, node: Node = NODE) -> RouteConfiguration:
    body = program.snapshot(program.target(node), halted=False)[RDS]["brownout"].body
    return RouteConfiguration.parse(Packed.parse(body).value)


def faults(program: Program, node: Node = NODE) -> dict[str, bytes]:
    """The names of the routes that enable the filter, and what with."""
    found: dict[str, bytes] = {}
    for host in routes(program, node).virtual_hosts:
        for each in host.routes:
            if (config := each.typed_per_filter_config.get("brownout")) is not None:
                found[each.name] = bytes(config.value)
    return found


def test_a_changed_endpoint_costs_one_route(compile_: Compilation) -> None:
    """Of a hundred endpoints one changes: one route is built; an upstream or another fleet costs none."""
    names = [f"e{index}" for index in range(100)]
    compile_(gateway(), upstream("a"), profile(), *(endpoint(each, "a") for each in names))
    assert len(compile_.built) == 100
    compile_.built.clear()
    compile_(endpoint("e42", "a", timeout="3s"))
    assert compile_.built == ["e42"]
    compile_(upstream("a", port=9100), profile("other"))
    compile_(gateway("two", port=11000), fleet="two")
    compile_(order=sorted(names, reverse=True))
    assert compile_.built == ["e42"]


def test_a_changed_fault_costs_no_route(compile_: Compilation) -> None:
    """A profile or a fault changes: no route is built, only what the filter is configured with."""
    fault = {"profile": "slow"}
    compile_(gateway(), upstream("a"), profile(), endpoint("x", "a", fault=fault), endpoint("y", "a"))
    compile_.built.clear()
    number = compile_.world.catalog.revision + 1
    program = compile_(profile(spec=SLOW | {"diagnostic": True}))
    assert compile_.built == []
    assert f'"label":"slow@{number}"'.encode() in faults(program)["x"]
    assert b'"endpoint":"x"' in faults(program)["x"]
    assert faults(compile_(endpoint("y", "a", fault={"profile": "slow", "percent": 5}))).keys() == {"x", "y"}
    assert faults(compile_(endpoint("x", "a"))).keys() == {"y"}
    assert compile_.built == []


def test_what_is_unchanged_is_the_same_object(compile_: Compilation) -> None:
    """Sets, and whole programs of fleets, that a revision does not touch are carried on."""
    first = compile_(gateway(), upstream("a"), endpoint("x", "a"))
    assert compile_(profile("unused"), upstream("unused")) is first
    second = compile_(endpoint("x", "a", timeout="3s"))
    one, two = (each.snapshot(each.target(NODE), halted=False) for each in (first, second))
    assert [two[kind] is one[kind] for kind in (CDS, EDS, LDS, ECDS, RDS)] == [True, True, True, True, False]
    third = compile_(gateway(), upstream("a"), endpoint("x", "a", timeout="3s"))
    assert third is not second
    assert third.snapshot(third.target(NODE), halted=False).same_as(two)


def test_only_what_is_used(compile_: Compilation) -> None:
    """A fleet gets the clusters that its endpoints refer to; host names need no EDS."""
    dns = upstream("dns").model_copy(
        update={"hosts": (upstream("dns").hosts[0].model_copy(update={"address": "localhost"}),)}
    )
    program = compile_(gateway(), upstream("a"), upstream("b"), dns, endpoint("x", "a"), endpoint("y", "dns"))
    snapshot = program.snapshot(program.target(NODE), halted=False)
    assert sorted(snapshot[CDS].names) == ["a", "dns"]
    assert sorted(snapshot[EDS].names) == ["a"]
    assert sorted(snapshot.routed) == ["a", "dns"]


def _listener_filters(listener: Listener) -> list[HttpFilter]:
    packed = listener.filter_chains[0].filters[0].typed_config
    assert packed is not None
    return HttpConnectionManager.parse(packed.value).http_filters


def _cluster_filters(cluster: Cluster) -> list[HttpFilter]:
    (packed,) = cluster.typed_extension_protocol_options.values()
    return HttpProtocolOptions.parse(packed.value).http_filters


@pytest.mark.parametrize("protocol", ["http1", "http2"])
def test_the_filter_is_in_every_listener_and_cluster(compile_: Compilation, protocol: str) -> None:
    """The same filter, disabled and discovered, stands directly before each router and each codec."""
    program = compile_(
        gateway(listeners=("one", "two")), upstream("a", protocol=protocol), endpoint("x", "a")
    )
    snapshot = program.snapshot(program.target(NODE), halted=False)
    listeners = [Listener.parse(Packed.parse(snapshot[LDS][name].body).value) for name in snapshot[LDS].names]
    (cluster,) = (Cluster.parse(Packed.parse(snapshot[CDS][name].body).value) for name in snapshot[CDS].names)
    chains = [*map(_listener_filters, listeners), _cluster_filters(cluster)]
    router, codec = "envoy.filters.http.router", "envoy.filters.http.upstream_codec"
    assert [[each.name for each in chain] for chain in chains] == [
        ["brownout", router],
        ["brownout", router],
        ["brownout", codec],
    ]
    first = chains[0][0]
    assert first.disabled
    assert first.config_discovery is not None
    assert first.config_discovery.default_config is not None
    assert all(chain[0] == first for chain in chains)
    assert [each.per_connection_buffer_limit_bytes for each in listeners] == [None, None]


def test_only_faults_that_inject(compile_: Compilation) -> None:
    """Only a route with an enabled fault carries a configuration for the filter."""
    program = compile_(
        gateway(),
        upstream("a"),
        profile(),
        endpoint("none", "a"),
        endpoint("off", "a", fault={"profile": "slow", "enabled": False}),
        endpoint("on", "a", fault={"profile": "slow"}),
    )
    assert faults(program).keys() == {"on"}


def test_a_changed_upstream_leaves_faults_as_they_are(compile_: Compilation) -> None:
    """What an upstream speaks is its cluster's matter: no route and no fault says anything of it."""
    fault = {"profile": "slow"}
    first = compile_(gateway(), upstream("a"), profile(), endpoint("x", "a", fault=fault))
    second = compile_(upstream("a", protocol="http2"))
    one, two = (each.snapshot(each.target(NODE), halted=False) for each in (first, second))
    assert two[RDS] is one[RDS]
    assert two[CDS] is not one[CDS]


def test_first_match_wins_across_hosts(compile_: Compilation) -> None:
    """Each distinct host becomes a virtual host with all endpoints that cover it.

    In the order of the list.
    """

    def on(name: str, *hosts: str) -> Any:
        return endpoint(name, "a", match={"hosts": list(hosts)})

    program = compile_(
        gateway(),
        upstream("a"),
        on("one", "*.example.com"),
        on("two", "*"),
        on("three", "api.example.com", "other.test"),
        on("four", "*.api.example.com"),
        on("five", "api.example.com:8080"),
        on("six", "[::1]:80"),
    )
    found = {each.domains[0]: [entry.name for entry in each.routes] for each in routes(program).virtual_hosts}
    assert found == {
        "*.example.com": ["one", "two"],
        "*": ["two"],
        "api.example.com": ["one", "two", "three", "five"],
        "other.test": ["two", "three"],
        "*.api.example.com": ["one", "two", "four"],
        "[::1]": ["two", "six"],
    }
    assert routes(program).ignore_port_in_host_matching


def test_targeting(compile_: Compilation) -> None:
    """A fault that is limited to nodes is in the snapshots of those only; nodes of one target share one."""
    program = compile_(
        gateway(),
        upstream("a"),
        profile(),
        endpoint("zone", "a", fault={"profile": "slow", "nodes": {"locality": {"zone": "z1"}}}),
        endpoint("ids", "a", fault={"profile": "slow", "nodes": {"ids": ["n2"]}}),
        endpoint("meta", "a", fault={"profile": "slow", "nodes": {"metadata": {"canary": True}}}),
        endpoint("all", "a", fault={"profile": "slow"}),
    )
    assert faults(program).keys() == {"zone", "meta", "all"}
    assert faults(program, Node("n2", "edge")).keys() == {"ids", "all"}
    assert faults(program, Node("n3", "edge")).keys() == {"all"}
    one, two = (program.snapshot(program.target(Node(name, "edge")), halted=False) for name in ("n3", "n4"))
    assert one[RDS] is two[RDS]
    assert one[CDS] is program.snapshot(program.target(NODE), halted=False)[CDS]


def _filter_config(program: Program, node: Node = NODE, *, halted: bool = False) -> str:
    """What the filter is configured with."""
    body = program.snapshot(program.target(node), halted=halted)[ECDS]["brownout"].body
    text = body
    for number in (2, 2, 2, 3, 2, 1):
        text = next(wire.message(value) for each, _, _, value in wire.fields(text) if each == number)
    return text.decode()


def test_filter_mode(compile_: Compilation) -> None:
    """Mode `filter`: the endpoints are the filter's, in order, and there is nothing else."""
    program = compile_(
        Fleet.load({"name": "edge", "mode": "filter"}),
        profile(),
        endpoint("plain", match={"exact": "/health"}, upstream=...),
        endpoint(
            "pay",
            match={"hosts": ["a.test", "b.test"], "methods": ["GET", "PUT"], "prefix": "/pay"},
            upstream=...,
            fault={"profile": "slow", "percent": 20},
        ),
        endpoint("some", match={}, upstream=..., fault={"profile": "slow", "nodes": {"ids": ["n2"]}}),
    )
    snapshot = program.snapshot(program.target(NODE), halted=False)
    assert [kind.key for kind in (CDS, EDS, LDS, RDS) if len(snapshot[kind])] == []
    text = _filter_config(program)
    config = load_filter_config(text)
    assert config.endpoints is not None
    assert filter_wire(config) == text
    assert [each.binding.endpoint for each in config.endpoints] == [
        "plain",
        "pay",
        "pay",
        "pay",
        "pay",
        "some",
    ]
    assert [each.binding.percent for each in config.endpoints] == [0, 20, 20, 20, 20, 0]
    first = config.endpoints[1].match
    assert first.prefix == "/pay"
    assert [(each.name, each.exact_match) for each in first.headers] == [
        (":authority", "a.test"),
        (":method", "GET"),
    ]
    other = load_filter_config(_filter_config(program, Node("n2", "edge"), halted=True))
    assert other.halted
    assert other.endpoints is not None
    assert other.endpoints[-1].binding.percent == 100


def test_routes_mode(compile_: Compilation) -> None:
    """Mode `routes`: everything but listeners."""
    program = compile_(Fleet.load({"name": "edge", "mode": "routes"}), upstream("a"), endpoint("x", "a"))
    snapshot = program.snapshot(program.target(NODE), halted=False)
    assert {kind.key: len(snapshot[kind]) for kind in (CDS, EDS, LDS, RDS, ECDS)} == {
        "cds": 1,
        "eds": 1,
        "lds": 0,
        "rds": 1,
        "ecds": 1,
    }


def test_halt_configuration(compile_: Compilation) -> None:
    """Outside mode `filter`, the filter's own configuration is nothing but the halt."""
    program = compile_(gateway(), upstream("a"), endpoint("x", "a"))
    assert _filter_config(program) == filter_wire(FilterConfig())
    assert _filter_config(program, halted=True) == filter_wire(FilterConfig(halted=True))


def test_cost_of_a_change_does_not_grow(compile_: Compilation) -> None:
    """A changed endpoint costs about the same among 20 fleets as in one.

    And little more among 1,000 endpoints.
    """

    def fill(world: World, fleets: int, endpoints: int) -> None:
        many = [endpoint(f"e{index}", "a") for index in range(endpoints)]
        for index in range(fleets):
            world.change(gateway(f"f{index}"), upstream("a"), *many, fleet=f"f{index}")

    def cost(fleets: int, endpoints: int) -> float:
        compilation = Compilation()
        fill(compilation.world, fleets, endpoints)
        compilation(fleet="f0")
        best = 1.0
        for index in range(10):
            changed = endpoint("e0", "a", timeout=f"{index + 1}s")
            compilation.world.change(changed, fleet="f0")
            start = time.thread_time()  # what others do on this machine is no cost of ours
            compilation.compiler.compile(compilation.world.catalog, lambda _: [], lambda _: False)
            best = min(best, time.thread_time() - start)
        return best

    alone = cost(1, 20)
    assert cost(20, 20) < 2 * alone
    assert cost(1, 1000) < 15 * alone
