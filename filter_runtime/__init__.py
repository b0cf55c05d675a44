"""The half of Brownout that runs inside Envoy: a C loader, and the compiled engine it starts.

Importing this package is cheap and starts nothing; Envoy imports it too.
"""

from filter_runtime.paths import module_path

__all__ = ["module_path"]
