"""The filter: in every listener and cluster, configured by ECDS, and per route where there is a fault."""

from functools import cache
from typing import Final

from envoy_data_plane.envoy.config.core.v3 import ExtensionConfigSource, TypedExtensionConfig
from envoy_data_plane.envoy.extensions.dynamic_modules.v3 import DynamicModuleConfig
from envoy_data_plane.envoy.extensions.filters.http.dynamic_modules.v3 import (
    DynamicModuleFilter,
    DynamicModuleFilterPerRoute,
)
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import HttpFilter
from envoy_data_plane.google.protobuf import Any, StringValue

from xds_server import wire
from xds_server.resource_set import Resource
from xds_server.resources.common import NAME, TYPE_URL, any_of, over_ads, packed

_PACKAGE = "envoy.extensions.filters.http"
FILTER_TYPE: Final = f"{_PACKAGE}.dynamic_modules.v3.DynamicModuleFilter"
PER_ROUTE_TYPE: Final = f"{_PACKAGE}.dynamic_modules.v3.DynamicModuleFilterPerRoute"
_EXTENSION_TYPE = "envoy.config.core.v3.TypedExtensionConfig"


def _module() -> DynamicModuleConfig:
    return DynamicModuleConfig(name=NAME, do_not_close=True, metrics_namespace=NAME)


def filter_config(config: str | None) -> Any:
    """Return the filter with a filter-level configuration; None is none."""
    text = None if config is None else any_of("google.protobuf.StringValue", StringValue(value=config))
    message = DynamicModuleFilter(dynamic_module_config=_module(), filter_name=NAME, filter_config=text)
    return any_of(FILTER_TYPE, message)


def route_fault(config: str) -> bytes:
    """Return the serialised `Any` that configures the filter on a route.

    Spliced behind what is the same for all: every edit of a profile comes by here, for each of its routes.
    """
    text = packed("google.protobuf.StringValue", wire.text(1, config))
    return packed(PER_ROUTE_TYPE, _per_route() + wire.field(3, text))


@cache
def _per_route() -> bytes:
    return bytes(DynamicModuleFilterPerRoute(dynamic_module_config=_module(), filter_name=NAME))


@cache
def disabled_filter() -> HttpFilter:
    """Return the filter as it stands in every listener and every cluster: disabled, configured by ECDS.

    A route's own configuration enables both, so that adding a fault changes neither. With the default
    configuration a listener or a cluster works before, and without, the first ECDS response; it says nothing
    of a halt, since it may come while the fleet is halted.
    """
    source = ExtensionConfigSource(
        config_source=over_ads(),
        default_config=filter_config(None),
        apply_default_config_without_warming=True,
        type_urls=[TYPE_URL + FILTER_TYPE],
    )
    return HttpFilter(name=NAME, config_discovery=source, disabled=True)


def extension(config: str) -> Resource:
    """Return the ECDS resource that carries the filter-level configuration."""
    message = TypedExtensionConfig(name=NAME, typed_config=filter_config(config))
    return Resource.of(NAME, packed(_EXTENSION_TYPE, bytes(message)))
