"""The bootstrap that connects an Envoy to the control plane."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from brownout.profile import SCHEMA_VERSION
from brownout_cli.addresses import Address
from brownout_cli.bootstrap_listener import cluster, http_listener, module_filter
from brownout_cli.bootstrap_tls import XdsTls

Mode = Literal["gateway", "routes", "filter"]
Protocol = Literal["delta", "sotw"]

# No upstream can have this name: those are DNS labels.
XDS_CLUSTER = "brownout_xds"
_ADS = {"ads": {}, "resource_api_version": "V3"}
# Envoy's own are 0.5 s and 30 s; a restarted control plane should not wait for its fleet that long.
_RECONNECT = {"base_interval": "0.2s", "max_interval": "5s"}


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who an Envoy says it is.

    Attributes:
        id: unique in the fleet, normally the host's name.
        fleet: becomes `node.cluster`.
        locality: region, zone and sub-zone, as far as known.
        metadata: what faults may be targeted by; `brownout` is ours.
    """

    id: str
    fleet: str
    locality: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """`node` of the bootstrap; its metadata says which schema the module of this installation reads."""
        node: dict[str, Any] = {
            "id": self.id,
            "cluster": self.fleet,
            "metadata": self.metadata | {"brownout": {"schema_version": SCHEMA_VERSION}},
        }
        if self.locality:
            places = zip(("region", "zone", "sub_zone"), self.locality, strict=False)
            node["locality"] = {name: place for name, place in places if place}
        return node


@dataclass(frozen=True, slots=True)
class Example:
    """The parts of an Envoy that modes other than `gateway` leave to its owner, so that what is printed runs.

    Attributes:
        listen: where its listener accepts requests.
        upstream: where its cluster leads to (`filter` only).
    """

    listen: Address
    upstream: Address


EXAMPLE = Example(listen=Address("127.0.0.1", 10000), upstream=Address("127.0.0.1", 9000))


def bootstrap(  # noqa: PLR0913 - an Envoy has that many sides
    node: NodeIdentity,
    xds: Sequence[Address],
    *,
    mode: Mode = "gateway",
    protocol: Protocol = "delta",
    tls: XdsTls | None = None,
    admin: Address | None = None,
    example: Example | None = None,
) -> dict[str, Any]:
    """A complete Envoy bootstrap.

    Args:
        node: the Envoy.
        xds: the control plane; with several addresses Envoy goes to another when one fails.
        mode: the fleet's.
        protocol: `delta` sends only what changed, `sotw` is the state of the world.
        tls: how to speak TLS to the control plane; without it, plain text.
        admin: where Envoy's admin interface listens; none without.
        example: in modes `routes` and `filter`, the rest of the Envoy.
    """
    server = _server(protocol)
    dynamic: dict[str, Any] = {"ads_config": server}
    static: dict[str, Any] = {"clusters": [_xds_cluster(xds, tls)]}
    example = example or EXAMPLE
    if mode == "gateway":
        dynamic |= {"lds_config": _ADS, "cds_config": _ADS}
    elif mode == "routes":
        dynamic |= {"cds_config": _ADS}
        routes = {"rds": {"config_source": _ADS, "route_config_name": "brownout"}}
        static["listeners"] = [http_listener(example.listen, routes, module_filter(_ADS, disabled=True))]
    else:
        # Streams of its own, one for listeners and one for clusters: an Envoy has one ADS, which may be
        # another control plane's, and Envoy (1.40 and older) crashes on a static cluster whose filter asks
        # for ADS, which it makes after such clusters.
        dynamic = {}
        source = {"api_config_source": server, "resource_api_version": "V3"}
        everywhere = module_filter(source, disabled=False)
        to_upstream = {"route_config": _all_to("upstream")}
        static["listeners"] = [http_listener(example.listen, to_upstream, everywhere)]
        static["clusters"].append(cluster("upstream", example.upstream, everywhere))
    result: dict[str, Any] = {"node": node.as_dict()}
    if dynamic:
        result["dynamic_resources"] = dynamic
    result["static_resources"] = static
    if admin:
        result["admin"] = {"address": _socket_address(admin)}
    return result


def _server(protocol: Protocol) -> dict[str, Any]:
    return {
        "api_type": "DELTA_GRPC" if protocol == "delta" else "GRPC",
        "transport_api_version": "V3",
        # Otherwise Envoy sends 61 KB of itself with every request, acknowledgements included.
        "set_node_on_first_message_only": True,
        "grpc_services": [
            {
                "envoy_grpc": {
                    "cluster_name": XDS_CLUSTER,
                    "retry_policy": {"retry_back_off": _RECONNECT},
                }
            }
        ],
    }


def _xds_cluster(addresses: Sequence[Address], tls: XdsTls | None) -> dict[str, Any]:
    http2 = {"connection_keepalive": {"interval": "30s", "timeout": "10s"}}
    options: dict[str, Any] = {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": http2},
    }
    found = {
        "name": XDS_CLUSTER,
        "type": "STATIC" if all(address.is_ip for address in addresses) else "STRICT_DNS",
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": XDS_CLUSTER,
            "endpoints": [
                {"lb_endpoints": [{"endpoint": {"address": _socket_address(each)}} for each in addresses]}
            ],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options
        },
    }
    if tls is not None:
        found["transport_socket"] = tls.transport_socket(addresses)
        # A stream that ends is opened anew on a new connection: with the certificate of that time.
        options["common_http_protocol_options"] = {"max_requests_per_connection": 1}
    return found


def _all_to(name: str) -> dict[str, Any]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": name}}
    return {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]}


def _socket_address(address: Address) -> dict[str, Any]:
    return {"socket_address": {"address": address.host, "port_value": address.port}}
