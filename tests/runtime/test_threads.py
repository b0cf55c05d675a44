"""The loader and the engine under many threads, called by a double of Envoy that can be instrumented."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.sanitized import sanitized_engine

ROOT = Path(__file__).parents[2]
DOUBLE = ROOT / "tests" / "runtime" / "double" / "envoy_double.c"
LOADER = ROOT / "filter_runtime" / "loader"
NOTHING_LEFT = "in_flight 0 held 0 errors 0 schedulers 0 streams 0 replies 1 released 1\n"
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # CPython is never finalised
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "history_size=4",
}


def compile_double(folder: Path, sanitizer: str | None) -> Path:
    """The double with the loader's sources in it."""
    program = folder / "double"
    defines = {
        "BROWNOUT_BUILT_PYTHON": "/nonexistent",
        "BROWNOUT_LIBPYTHON": sysconfig.get_config_var("INSTSONAME"),
        "BROWNOUT_LIBDIR": sysconfig.get_config_var("LIBDIR"),
        "BROWNOUT_MULTIARCH": sysconfig.get_config_var("MULTIARCH") or "-",
    }
    command = ["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
    command += [f"-fsanitize={sanitizer}"] if sanitizer else []
    command += [f"-I{sysconfig.get_path('include')}", f"-I{LOADER}"]
    command += [f'-D{name}="{value}"' for name, value in defines.items()]
    sources = [*sorted(LOADER.glob("*.c")), DOUBLE]
    subprocess.run([*command, *sources, "-o", program, "-ldl", "-lpthread"], check=True)
    return program


def environment_with(engine: Path, folder: Path) -> Path:
    """A virtual environment whose filter_runtime has that engine; returns its python."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "filter_runtime").mkdir()
    for source in [*(ROOT / "filter_runtime").glob("*.py"), engine]:
        shutil.copy(source, site / "filter_runtime")
    (site / "brownout").symlink_to(ROOT / "brownout")
    here = [entry for entry in sys.path if entry.endswith("-packages")]
    (site / "dependencies.pth").write_text("\n".join(here))
    return environment / "bin" / "python"


def run(program: Path, python: Path, milliseconds: int) -> str:
    """What the double says in the end; a sanitizer's report fails it."""
    ran = subprocess.run(
        [program, str(milliseconds)],
        env=os.environ | OPTIONS | {"BROWNOUT_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_four_workers_leave_nothing_behind(tmp_path: Path) -> None:
    """Holds, endings, halts and pushes from several threads leave no stream, timer or count."""
    program = compile_double(tmp_path, None)
    assert run(program, Path(sys.executable), 1_000) == NOTHING_LEFT


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_no_sanitizer_finds_anything(tmp_path: Path, sanitizer: str) -> None:
    """The same with loader and engine instrumented, without one report."""
    engine = sanitized_engine(sanitizer, tmp_path)
    program = compile_double(tmp_path, sanitizer)
    assert run(program, environment_with(engine, tmp_path), 20_000) == NOTHING_LEFT
