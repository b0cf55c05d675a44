"""What several builders need."""

from datetime import timedelta
from typing import Final

import betterproto2
from envoy_data_plane.envoy.config.core.v3 import (
    Address,
    AggregatedConfigSource,
    ApiVersion,
    ConfigSource,
    DataSource,
    SocketAddress,
)
from envoy_data_plane.google.protobuf import Any

from brownout.domain import is_pem
from xds_server import wire

TYPE_URL: Final = "type.googleapis.com/"
NAME: Final = "brownout"
"""The name of the module, its filter, the extension that configures it, and the route configuration."""

_MILLISECOND = 1_000_000


def packed(type_name: str, content: bytes) -> bytes:
    """Return the serialised `google.protobuf.Any` of a serialised message."""
    return wire.text(1, TYPE_URL + type_name) + wire.field(2, content)


def any_of(type_name: str, message: betterproto2.Message) -> Any:
    """Return a message as `google.protobuf.Any`."""
    return Any(type_url=TYPE_URL + type_name, value=bytes(message))


def duration(nanoseconds: int) -> timedelta:
    """Return a timeout; Envoy counts in milliseconds and takes 0 for none, so less than one becomes one."""
    if nanoseconds == 0:
        return timedelta()
    return timedelta(microseconds=max(nanoseconds, _MILLISECOND) // 1000)


def address(host: str, port: int) -> Address:
    """Return an address with a port."""
    return Address(socket_address=SocketAddress(address=host, port_value=port))


def data_source(material: str) -> DataSource:
    """Return TLS material: PEM text inline, else the path of a file on the Envoy's host."""
    return DataSource(inline_string=material) if is_pem(material) else DataSource(filename=material)


def over_ads() -> ConfigSource:
    """Return the source of what comes over the aggregated stream."""
    return ConfigSource(ads=AggregatedConfigSource(), resource_api_version=ApiVersion.V3)
