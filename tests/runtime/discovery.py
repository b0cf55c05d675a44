"""Configurations that come from files (RDS, ECDS), as a control plane would deliver them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import module_filter, static_bootstrap

MODULE = "type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter"


def _deliver(path: Path, version: str, resource: Mapping[str, Any]) -> None:
    """Put a discovery response in place in one step, as Envoy wants it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"version_info": version, "resources": [resource]}))
    fresh.replace(path)


def _source(path: Path) -> dict[str, Any]:
    return {"path_config_source": {"path": str(path), "watched_directory": {"path": str(path.parent)}}}


def write_routes(path: Path, routes: Sequence[Mapping[str, Any]], version: str) -> None:
    """Deliver the routes of `with_routes_from`."""
    resource = {
        "@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
        "name": "brownout",
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": list(routes)}],
    }
    _deliver(path, version, resource)


def with_routes_from(path: Path, upstream_port: int, **options: Any) -> dict[str, Any]:
    """A bootstrap whose routes come from an RDS file."""
    config = static_bootstrap(upstream_port, **options)
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    del manager["route_config"]
    manager["rds"] = {"route_config_name": "brownout", "config_source": _source(path)}
    return config


def write_filter(path: Path, config: dict[str, Any], version: str) -> None:
    """Deliver the filter-level configuration of `discovered_filter`."""
    resource = {
        "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        "name": "brownout",
        "typed_config": module_filter(config)["typed_config"],
    }
    _deliver(path, version, resource)


def discovered_filter(path: Path) -> dict[str, Any]:
    """The filter, disabled unless a route enables it, whose configuration comes from `path`."""
    return {
        "name": "brownout",
        "disabled": True,
        "config_discovery": {
            "config_source": _source(path),
            "default_config": module_filter({"endpoints": []})["typed_config"],
            "apply_default_config_without_warming": True,
            "type_urls": [MODULE],
        },
    }


def discovered(path: Path, upstream_port: int, **options: Any) -> dict[str, Any]:
    """A bootstrap with that filter in upstream position."""
    config = static_bootstrap(upstream_port, **options)
    clusters = config["static_resources"]["clusters"]
    options_of = clusters[0]["typed_extension_protocol_options"]
    options_of["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]["http_filters"][0] = (
        discovered_filter(path)
    )
    return config
