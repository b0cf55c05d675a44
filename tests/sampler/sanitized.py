"""A pytest plugin: an instrumented engine in the place of the ordinary one, before any test imports it."""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

from hypothesis import HealthCheck, settings

import filter_runtime

NAME = "filter_runtime._engine"

spec = spec_from_file_location(NAME, os.environ["BROWNOUT_SANITIZED_ENGINE"])
assert spec is not None
assert spec.loader is not None
engine = module_from_spec(spec)
sys.modules[NAME] = engine
spec.loader.exec_module(engine)
setattr(filter_runtime, "_engine", engine)  # noqa: B010 - the import system would set it

settings.register_profile("instrumented", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("instrumented")
