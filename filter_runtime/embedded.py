"""What the loader imports inside Envoy: the engine's hooks, bound to the profile language."""

from brownout.profile import load_filter_config, load_route_config
from filter_runtime import _engine

hooks: object = _engine.hooks(load_filter_config, load_route_config)
