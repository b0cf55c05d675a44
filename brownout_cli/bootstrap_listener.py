"""Parts of a bootstrap that an Envoy with a configuration of its own shows: listener, cluster, the filter."""

from typing import Any

from brownout_cli.addresses import Address

_TYPE = "type.googleapis.com/"
_FILTERS = f"{_TYPE}envoy.extensions.filters.http"
_MANAGER = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_MODULE_FILTER = f"{_FILTERS}.dynamic_modules.v3.DynamicModuleFilter"


def module_filter(source: dict[str, Any], *, disabled: bool) -> dict[str, Any]:
    """The filter `brownout`, configured by ECDS: the same for a connection manager and for a cluster.

    Its default injects nothing and is used at once, so that an absent control plane costs nothing. It says
    nothing of a halt, since a listener or a cluster may come while the fleet is halted.

    Args:
        source: the ConfigSource.
        disabled: whether it is created only for routes that have a configuration for it.
    """
    return {
        "name": "brownout",
        **({"disabled": True} if disabled else {}),
        "config_discovery": {
            "config_source": source,
            "type_urls": [_MODULE_FILTER],
            "apply_default_config_without_warming": True,
            "default_config": {
                "@type": _MODULE_FILTER,
                "dynamic_module_config": {
                    "name": "brownout",
                    "do_not_close": True,
                    "metrics_namespace": "brownout",
                },
                "filter_name": "brownout",
            },
        },
    }


def http_listener(listen: Address, routes: dict[str, Any], http_filter: dict[str, Any]) -> dict[str, Any]:
    """A plain HTTP listener with an HTTP filter before the router.

    Args:
        listen: where.
        routes: the connection manager's `rds` or `route_config`.
        http_filter: the filter.
    """
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{_FILTERS}.router.v3.Router"}}
    manager = {
        "@type": _TYPE + _MANAGER,
        "stat_prefix": "http",
        **routes,
        "http_filters": [http_filter, router],
    }
    return {
        "name": "http",
        "address": {"socket_address": {"address": listen.host, "port_value": listen.port}},
        "filter_chains": [
            {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
        ],
    }


def cluster(name: str, host: Address, http_filter: dict[str, Any]) -> dict[str, Any]:
    """An HTTP/1 cluster of one host with an HTTP filter before the codec."""
    codec = {"@type": f"{_FILTERS}.upstream_codec.v3.UpstreamCodec"}
    endpoint = {"address": {"socket_address": {"address": host.host, "port_value": host.port}}}
    return {
        "name": name,
        "type": "STATIC" if host.is_ip else "STRICT_DNS",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}],
        },
        "typed_extension_protocol_options": {
            _OPTIONS: {
                "@type": _TYPE + _OPTIONS,
                "explicit_http_config": {"http_protocol_options": {}},
                "http_filters": [
                    http_filter,
                    {"name": "envoy.filters.http.upstream_codec", "typed_config": codec},
                ],
            }
        },
    }
