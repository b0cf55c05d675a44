"""Static Envoy configurations for tests of the module: plain dicts, to be changed as a test needs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

TYPE = "type.googleapis.com/"
_HTTP = "envoy.extensions.filters.http"
_MODULE = {"name": "brownout", "do_not_close": True, "metrics_namespace": "brownout"}
_MANY = 1_000_000

Config = str | bytes | Mapping[str, Any]


def string_value(config: Config) -> dict[str, Any]:
    """A module configuration as Envoy hands it over: text as it is, a mapping as JSON."""
    if isinstance(config, bytes):
        config = config.decode()
    text = config if isinstance(config, str) else json.dumps(config)
    return {"@type": f"{TYPE}google.protobuf.StringValue", "value": text}


def module_filter(config: Config | None) -> dict[str, Any]:
    """The HTTP filter; without a configuration it is `disabled`, and only a route's own creates it."""
    entry: dict[str, Any] = {
        "name": "brownout",
        "typed_config": {
            "@type": f"{TYPE}{_HTTP}.dynamic_modules.v3.DynamicModuleFilter",
            "dynamic_module_config": _MODULE,
            "filter_name": "brownout",
            "filter_config": string_value({"endpoints": []} if config is None else config),
        },
    }
    return entry | ({"disabled": True} if config is None else {})


def fault(config: Config) -> dict[str, Any]:
    """`typed_per_filter_config` of a route that injects `config` (the direct shape)."""
    return {
        "brownout": {
            "@type": f"{TYPE}{_HTTP}.dynamic_modules.v3.DynamicModuleFilterPerRoute",
            "dynamic_module_config": _MODULE,
            "filter_name": "brownout",
            "filter_config": string_value(config),
        }
    }


def route(prefix: str = "/", inject: Config | None = None, **action: Any) -> dict[str, Any]:
    """A route to the upstream; `action` are further fields of Envoy's RouteAction (`retry_policy`, …)."""
    entry: dict[str, Any] = {
        "match": {"prefix": prefix},
        "route": {"cluster": "upstream", "timeout": "0s"} | action,
    }
    return entry if inject is None else entry | {"typed_per_filter_config": fault(inject)}


def cluster(
    port: int, *, name: str = "upstream", http2: bool = False, filters: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """A cluster of one loopback host, circuit breakers out of the way, with HTTP filters before the codec."""
    options: dict[str, Any] = {
        "@type": f"{TYPE}envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}}
        if http2
        else {"http_protocol_options": {"enable_trailers": True}},
    }
    if filters:
        codec = {"@type": f"{TYPE}{_HTTP}.upstream_codec.v3.UpstreamCodec"}
        options["http_filters"] = [
            *filters,
            {"name": "envoy.filters.http.upstream_codec", "typed_config": codec},
        ]
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests", "max_retries"), _MANY)
    endpoint = {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [limits]},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options
        },
    }


def listener(
    routes: Sequence[Mapping[str, Any]], *, name: str = "http", filters: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """A listener on a free port: HTTP/1 with trailers, HTTP/2 by prior knowledge; `filters`, then router."""
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{TYPE}{_HTTP}.router.v3.Router"},
    }
    manager = {
        "@type": f"{TYPE}envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "codec_type": "AUTO",
        "http_protocol_options": {"enable_trailers": True},
        "http_filters": [*filters, router],
        "route_config": {
            "name": "brownout",
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": list(routes)}],
        },
    }
    return {
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [
            {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
        ],
    }


def manager_of(config: Mapping[str, Any], listener: int = 0) -> dict[str, Any]:
    """The HTTP connection manager of a bootstrap's listener, to be changed."""
    chain = config["static_resources"]["listeners"][listener]["filter_chains"][0]
    manager: dict[str, Any] = chain["filters"][0]["typed_config"]
    return manager


def static_bootstrap(
    upstream_port: int,
    *,
    routes: Sequence[Mapping[str, Any]] | None = None,
    filter_config: Config | None = None,
    position: str = "both",
    http2: bool = False,
) -> dict[str, Any]:
    """A whole bootstrap: listener `http`, cluster `upstream` on `upstream_port`, the module in between.

    Args:
        upstream_port: loopback port of the upstream.
        routes: made by `route()`; by default one that matches everything.
        filter_config: the filter-level configuration; None: the filter is disabled unless a route enables it.
        position: `upstream` (the cluster's filters), `downstream` (the listener's, just before the router),
            `both`, or `none` for an Envoy without the module.
        http2: whether Envoy speaks HTTP/2 to the upstream.
    """
    filters = [module_filter(filter_config)]
    of_listener = filters if position in {"downstream", "both"} else ()
    of_cluster = filters if position in {"upstream", "both"} else ()
    return {
        "node": {"id": "test", "cluster": "test"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "static_resources": {
            "listeners": [listener(routes or [route()], filters=of_listener)],
            "clusters": [cluster(upstream_port, http2=http2, filters=of_cluster)],
        },
    }
