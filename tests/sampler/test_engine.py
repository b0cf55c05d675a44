"""Which engine runs."""

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from types import FunctionType

import filter_runtime
from filter_runtime import _engine


def test_the_compiled_engine_is_what_is_loaded() -> None:
    """The module comes from an extension file, and its functions are no functions of the interpreter."""
    assert isinstance(_engine.__spec__.loader, ExtensionFileLoader)
    assert _engine.__file__.endswith(tuple(EXTENSION_SUFFIXES))
    assert not isinstance(_engine.duration_text, FunctionType)


def test_there_is_nothing_to_fall_back_to() -> None:
    """No module written in Python could take the engine's place."""
    folder = Path(filter_runtime.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {
        "__init__",
        "embedded",
        "paths",
        "simulation",
        "structs",
    }


def test_importing_the_package_does_not_import_numpy() -> None:
    """What Envoy imports is cheap: numpy comes with the first simulation."""
    code = "import sys, filter_runtime, filter_runtime._engine; print('numpy' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "False"
