"""Which Python the module starts, and what it says when there is none that serves."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from filter_runtime import module_path
from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import always

CONFIG = always(503)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SEARCH = "ENVOY_DYNAMIC_MODULES_SEARCH_PATH"


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def bootstrap(upstream: Upstream) -> dict[str, object]:
    return static_bootstrap(upstream.port, routes=[route("/", CONFIG)])


def serves(upstream: Upstream, env: dict[str, str]) -> None:
    """An Envoy with that environment injects."""
    with EnvoyProcess(bootstrap(upstream), env=env) as envoy:
        assert exchange(envoy.address()).status == 503


def refuses(upstream: Upstream, env: dict[str, str]) -> str:
    """An Envoy with that environment exits with 1 and exactly one line of the module's, which is returned."""
    with EnvoyProcess(bootstrap(upstream), env=env, wait="none") as envoy:
        assert envoy.wait_exit() == 1
        (line,) = (line for line in envoy.log.splitlines() if "brownout: " in line)
    assert "[error][dynamic_modules]" in line
    assert "BROWNOUT_PYTHON=" in line
    assert f"CPython {VERSION}" in line
    return line


def test_the_environment_that_it_was_built_with(upstream: Upstream) -> None:
    """Nothing but the search path is needed."""
    serves(upstream, {SEARCH: str(module_path())})


def symbols(*command: str) -> str:
    """What a tool for object files says of the module."""
    library = module_path() / "libbrownout.so"
    return subprocess.run([*command, library], capture_output=True, text=True, check=True).stdout


def test_the_loader_links_no_python() -> None:
    """The module needs no libpython to be loaded, so that its absence can be explained."""
    assert "python" not in symbols("readelf", "-d")
    assert " Py" not in symbols("nm", "-D", "--undefined-only")


def test_a_chosen_python(upstream: Upstream) -> None:
    """BROWNOUT_PYTHON names a virtual environment's python."""
    serves(upstream, {"BROWNOUT_PYTHON": sys.executable})


def test_variables_for_other_pythons_do_not_disturb(upstream: Upstream, tmp_path: Path) -> None:
    """The environment's PYTHON* variables belong to other programs."""
    (tmp_path / "brownout").mkdir()
    (tmp_path / "brownout" / "__init__.py").write_text("raise SystemExit(3)")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    disturbing = {
        "PYTHONHOME": "/nonexistent",
        "PYTHONPATH": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "json.py"),
        "PYTHONMALLOC": "debug",
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "2",
        "LC_ALL": "C",
        "LANG": "C",
    }
    serves(upstream, disturbing)


def test_a_copied_module_finds_its_python(upstream: Upstream, tmp_path: Path) -> None:
    """A copy of libbrownout.so alone, elsewhere, starts the Python that it was built with."""
    shutil.copy(module_path() / "libbrownout.so", tmp_path)
    serves(upstream, {SEARCH: str(tmp_path)})


def test_a_linked_module_finds_its_python(upstream: Upstream, tmp_path: Path) -> None:
    """A symbolic link to libbrownout.so is the module it points to."""
    (tmp_path / "libbrownout.so").symlink_to(module_path() / "libbrownout.so")
    serves(upstream, {SEARCH: str(tmp_path)})


def test_no_python_there(upstream: Upstream) -> None:
    """A BROWNOUT_PYTHON that does not exist is said so, with what was looked for."""
    line = refuses(upstream, {"BROWNOUT_PYTHON": "/nowhere/bin/python"})
    assert "from BROWNOUT_PYTHON, /nowhere/bin/python" in line
    assert "not there or cannot be executed (No such file or directory)" in line


def test_a_python_without_a_shared_library(upstream: Upstream, tmp_path: Path) -> None:
    """An installation without libpython is said so, with where it was looked for."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    (tmp_path / "lib").mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    line = refuses(upstream, {"BROWNOUT_PYTHON": str(python)})
    assert f"no libpython{VERSION}.so" in line
    assert str(tmp_path / "lib") in line


def test_another_version_of_python(upstream: Upstream, tmp_path: Path) -> None:
    """A libpython of the right name and the wrong version is refused before it is started."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    (tmp_path / "lib").mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    source = tmp_path / "other.c"
    source.write_text('const char *Py_GetVersion(void) { return "3.1.4 (main)"; }\n')
    library = tmp_path / "lib" / f"libpython{VERSION}.so.1.0"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    line = refuses(upstream, {"BROWNOUT_PYTHON": str(python)})
    assert "3.1.4" in line or "is not in its library" in line


def test_a_python_without_brownout(upstream: Upstream, tmp_path: Path) -> None:
    """A virtual environment in which brownout is not installed is said so."""
    environment = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    shutil.copy(module_path() / "libbrownout.so", tmp_path)
    line = refuses(upstream, {SEARCH: str(tmp_path), "BROWNOUT_PYTHON": str(environment / "bin" / "python")})
    assert "No module named 'filter_runtime'" in line


def test_an_engine_of_another_build(upstream: Upstream, tmp_path: Path) -> None:
    """An engine whose table the loader does not know is refused, not called."""
    environment = tmp_path / "old"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    package = environment / "lib" / f"python{VERSION}" / "site-packages" / "filter_runtime"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "embedded.py").write_text(
        "import ctypes\n"
        "table = (ctypes.c_uint32 * 64)(0x42520000, 256)\n"
        "new = ctypes.pythonapi.PyCapsule_New\n"
        "new.restype = ctypes.py_object\n"
        "new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]\n"
        "name = ctypes.create_string_buffer(b'filter_runtime.embedded.hooks')\n"
        "hooks = new(ctypes.addressof(table), ctypes.cast(name, ctypes.c_char_p), None)\n"
    )
    shutil.copy(module_path() / "libbrownout.so", tmp_path)
    line = refuses(upstream, {SEARCH: str(tmp_path), "BROWNOUT_PYTHON": str(environment / "bin" / "python")})
    assert "another build" in line


def test_an_installation_of_its_own(upstream: Upstream, tmp_path: Path) -> None:
    """A package in another environment's site-packages uses that environment, whatever it was built with."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = environment / "lib" / f"python{VERSION}" / "site-packages"
    root = module_path().parents[1]
    for package in ("filter_runtime", "brownout"):
        shutil.copytree(root / package, site / package, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    # What brownout.profile needs, from the environment of the tests.
    here = Path(os.__file__).parent / "site-packages"
    for path in [Path(entry) for entry in sys.path if entry.endswith("site-packages")]:
        here = path
    (site / "dependencies.pth").write_text(f"{here}\n")
    serves(upstream, {SEARCH: str(site / "filter_runtime" / "lib")})
    (site / "brownout" / "profile" / "__init__.py").write_text("raise ImportError('from this environment')")
    line = refuses(upstream, {SEARCH: str(site / "filter_runtime" / "lib")})
    assert "from this environment" in line
    assert str(environment / "bin" / "python") in line
