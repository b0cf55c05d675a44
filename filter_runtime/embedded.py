"""What the loader imports inside Envoy: the engine's hooks, bound to the profile language."""

from brownout.profile import RouteConfig, load_filter_config, load_route_config
from filter_runtime import _engine
from filter_runtime.structs import struct_as_json


def _route_config(raw: bytes) -> RouteConfig:
    return load_route_config(struct_as_json(raw))


hooks: object = _engine.hooks(load_filter_config, _route_config)
