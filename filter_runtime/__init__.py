"""The half of Brownout that runs inside Envoy: a C loader, and the compiled engine it starts.

Importing this package is cheap and starts nothing; Envoy imports it too.
"""

from typing import TYPE_CHECKING, Any

from filter_runtime.paths import module_path

if TYPE_CHECKING:
    from filter_runtime.simulation import simulate

__all__ = ["module_path", "simulate"]


def __getattr__(name: str) -> Any:
    if name == "simulate":  # needs numpy, which Envoy does not
        from filter_runtime.simulation import simulate  # noqa: PLC0415 - see above

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
