"""Where the module is that Envoy loads."""

from pathlib import Path


def module_path() -> Path:
    """The directory to name in Envoy's `ENVOY_DYNAMIC_MODULES_SEARCH_PATH`: it holds `libbrownout.so`."""
    return Path(__file__).resolve().parent / "lib"
