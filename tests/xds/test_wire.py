"""The wire helpers, and what is spliced with them: the same bytes as Envoy's own messages."""

import pytest
from envoy_data_plane.envoy.config.core.v3 import Extension, Node
from envoy_data_plane.envoy.config.route.v3 import (
    HeaderMatcher,
    Route,
    RouteConfiguration,
    RouteMatch,
    VirtualHost,
)
from envoy_data_plane.envoy.extensions.dynamic_modules.v3 import DynamicModuleConfig
from envoy_data_plane.envoy.extensions.filters.http.dynamic_modules.v3 import DynamicModuleFilterPerRoute
from envoy_data_plane.envoy.service.discovery.v3 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
    DiscoveryRequest,
    DiscoveryResponse,
)
from envoy_data_plane.envoy.service.discovery.v3 import Resource as EnvoyResource
from envoy_data_plane.envoy.type.matcher.v3 import RegexMatcher, StringMatcher
from envoy_data_plane.google.protobuf import Any, StringValue
from envoy_data_plane.google.rpc import Status
from hypothesis import given
from hypothesis import strategies as st

from tests.xds.world import endpoint
from xds_server import wire
from xds_server.protocol.requests import DeltaRequest, SotwRequest
from xds_server.protocol.responses import delta_response, sotw_response, with_nonce
from xds_server.resource_set import Resource, ResourceSet
from xds_server.resources.common import packed
from xds_server.resources.route import route, with_fault, with_ports
from xds_server.resources.route_configuration import route_configuration
from xds_server.types import CDS, EDS

_TEXT = st.text(max_size=20)
_NAMES = st.lists(_TEXT, max_size=5)


@given(st.integers(0, 2**64 - 1))
def test_varints(value: int) -> None:
    """What is written is read."""
    assert wire.read_varint(wire.varint(value) + b"rest", 0) == (value, len(wire.varint(value)))


@pytest.mark.parametrize(
    "data", [b"\x80", b"\x0a\x05abc", b"\x0b\x00", b"\x09\x01", b"\xff" * 11, b"\x02\x00"]
)
def test_no_message(data: bytes) -> None:
    """Bytes that end too early, or have a wire type that nobody uses, are refused."""
    with pytest.raises(wire.WireError):
        list(wire.fields(data))


@given(st.binary(max_size=64))
def test_any_bytes(data: bytes) -> None:
    """Whatever comes is either read or refused, and what is read covers all of it."""
    try:
        found = list(wire.fields(data))
    except wire.WireError:
        return
    assert b"".join(data[start:end] for _, start, end, _ in found) == data


@given(version=_TEXT, url=_TEXT, nonce=_TEXT, names=_NAMES, error=st.none() | _TEXT)
def test_sotw_request(version: str, url: str, nonce: str, names: list[str], error: str | None) -> None:
    """A `DiscoveryRequest` is read as betterproto2 writes it; an error is one by being there."""
    message = DiscoveryRequest(version_info=version, type_url=url, response_nonce=nonce, resource_names=names)
    if error is not None:
        message.error_detail = Status(message=error)
    request = SotwRequest.parse(bytes(message))
    assert (request.version, request.type_url, request.nonce) == (version, url, nonce)
    assert (request.names, request.error, request.node) == (frozenset(names), error, None)


@given(
    url=_TEXT,
    nonce=_TEXT,
    add=_NAMES,
    drop=_NAMES,
    had=st.dictionaries(_TEXT, _TEXT),
    error=st.none() | _TEXT,
)
def test_delta_request(  # noqa: PLR0917 (Hypothesis names them)
    url: str, nonce: str, add: list[str], drop: list[str], had: dict[str, str], error: str | None
) -> None:
    """A `DeltaDiscoveryRequest` is read as betterproto2 writes it."""
    message = DeltaDiscoveryRequest(
        type_url=url,
        response_nonce=nonce,
        resource_names_subscribe=add,
        resource_names_unsubscribe=drop,
        initial_resource_versions=had,
    )
    if error is not None:
        message.error_detail = Status(message=error)
    request = DeltaRequest.parse(bytes(message))
    assert (request.type_url, request.nonce, request.error) == (url, nonce, error)
    assert (request.subscribe, request.unsubscribe) == (frozenset(add), frozenset(drop))
    assert request.initial_versions == had


def test_node_without_its_extensions() -> None:
    """The node is kept, its extensions are not."""
    node = Node(id="n", cluster="c", user_agent_name="envoy")
    full = Node(id="n", cluster="c", user_agent_name="envoy", extensions=[Extension(name="x")] * 3)
    for request in (
        SotwRequest.parse(bytes(DiscoveryRequest(node=full))),
        DeltaRequest.parse(bytes(DeltaDiscoveryRequest(node=full))),
    ):
        assert request.node == bytes(node)


def _resources(*names: str) -> tuple[ResourceSet, list[Any]]:
    messages = [Any(type_url=CDS.url, value=name.encode()) for name in names]
    return ResourceSet(
        Resource.of(name, bytes(each)) for name, each in zip(names, messages, strict=True)
    ), messages


def test_sotw_response() -> None:
    """A spliced `DiscoveryResponse` is what betterproto2 makes of the same parts."""
    resources, messages = _resources("a", "b")
    data = with_nonce(sotw_response(CDS, resources, resources.names), "7")
    expected = DiscoveryResponse(
        version_info=resources.version, resources=messages, type_url=CDS.url, nonce="7"
    )
    assert DiscoveryResponse.parse(data) == expected
    assert data == bytes(expected)


def test_delta_response() -> None:
    """A spliced `DeltaDiscoveryResponse` is what betterproto2 makes of the same parts."""
    resources, messages = _resources("a", "b")
    data = with_nonce(delta_response(EDS, resources, resources.names, frozenset({"y", "x"})), "7")
    expected = DeltaDiscoveryResponse(
        system_version_info=resources.version,
        resources=[
            EnvoyResource(name=name, version=resources[name].version, resource=each)
            for name, each in zip("ab", messages, strict=True)
        ],
        type_url=EDS.url,
        nonce="7",
        removed_resources=["x", "y"],
    )
    assert DeltaDiscoveryResponse.parse(data) == expected


def test_route_configuration() -> None:
    """A spliced `RouteConfiguration`, in its `Any`, is what betterproto2 makes of the same parts."""
    parts = [route(endpoint(name)) for name in ("a", "b")]
    hosts = [("*",), ("x.test", "*")]
    resource = route_configuration(list(zip(hosts, parts, strict=True)))
    a, b = (Route.parse(each) for each in parts)
    expected = RouteConfiguration(
        name="brownout",
        virtual_hosts=[
            VirtualHost(name="*", domains=["*"], routes=[a, b]),
            VirtualHost(name="x.test", domains=["x.test"], routes=[a, b]),
        ],
        ignore_port_in_host_matching=True,
    )
    assert RouteConfiguration.parse(Any.parse(resource.body).value) == expected
    assert resource.body == packed("envoy.config.route.v3.RouteConfiguration", bytes(expected))


def test_fault_added_to_a_route() -> None:
    """A fault that is appended to a serialised route is what betterproto2 makes of the same parts."""
    plain = route(endpoint("a"))
    config = '{"responses":[]}'
    expected = Route.parse(plain)
    message = DynamicModuleFilterPerRoute(
        dynamic_module_config=DynamicModuleConfig(
            name="brownout", do_not_close=True, metrics_namespace="brownout"
        ),
        filter_name="brownout",
        filter_config=Any.pack(StringValue(value=config)),
    )
    expected.typed_per_filter_config["brownout"] = Any.pack(message)
    assert Route.parse(with_fault(plain, config)) == expected


def test_condition_added_to_a_route() -> None:
    """A condition is appended to a serialised route as a second part of its match.

    Protobuf merges the two (betterproto2 does not; that Envoy does is tested on Envoy).
    """
    plain = route(endpoint("a", match={"prefix": "/a", "methods": ["GET"]}))
    both = with_ports(plain, frozenset({"8080", "9090"}))
    assert both.startswith(plain)
    added = Route.parse(both[len(plain) :])
    expected = RegexMatcher(regex=".*:(?:8080|9090)")
    assert added == Route(
        match=RouteMatch(
            headers=[HeaderMatcher(name=":authority", string_match=StringMatcher(safe_regex=expected))]
        )
    )
