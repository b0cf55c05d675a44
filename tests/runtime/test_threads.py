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
ALONE = "brownout: a request passed the filter of a cluster but not that of a connection manager."
IN_THE_END = [
    "left: in_flight 0 held 0 schedulers 0 streams 0 requests 0",
    "wrong: errors 0 violations 0",
    "seen: released 1 replies 1 landed 1 handed_over 1 relayed 1 given_up 1 skipped 1 resumed 1",
]
ENVOYS = ["before 1.39", "since 1.39"]
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # CPython is never finalised
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "history_size=4",
}


def compile_double(folder: Path, envoy: str, sanitizer: str | None = None) -> Path:
    """The double with the loader's sources in it; before 1.39 Envoy does not number attempts."""
    program = folder / "double"
    defines = {
        "BROWNOUT_BUILT_PYTHON": "/nonexistent",
        "BROWNOUT_LIBPYTHON": sysconfig.get_config_var("INSTSONAME"),
        "BROWNOUT_LIBDIR": sysconfig.get_config_var("LIBDIR"),
        "BROWNOUT_MULTIARCH": sysconfig.get_config_var("MULTIARCH") or "-",
    }
    command = ["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
    command += [f"-fsanitize={sanitizer}"] if sanitizer else []
    command += ["-DBEFORE_1_39"] if envoy == "before 1.39" else []
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


def run(program: Path, python: Path, milliseconds: int) -> list[str]:
    """What the double says in the end; a sanitizer's report or a violation fails it.

    The log has one line: that a cluster's filter is alone, however often it was.
    """
    ran = subprocess.run(
        [program, str(milliseconds)],
        env=os.environ | OPTIONS | {"BROWNOUT_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, [line.startswith(ALONE) for line in ran.stderr.splitlines()]) == (0, [True]), (
        ran.stderr
    )
    return ran.stdout.splitlines()


@pytest.mark.parametrize("envoy", ENVOYS)
def test_four_workers_leave_nothing_behind(tmp_path: Path, envoy: str) -> None:
    """Whatever happens to requests on several threads leaves no stream, timer or count.

    Responses that are held, landed, relayed, handed over and given up among rivals; clients that pause and
    leave; halts, expiries and pushes.
    """
    program = compile_double(tmp_path, envoy)
    assert run(program, Path(sys.executable), 1_000) == IN_THE_END


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_no_sanitizer_finds_anything(tmp_path: Path, sanitizer: str) -> None:
    """The same with loader and engine instrumented, without one report."""
    python = environment_with(sanitized_engine(sanitizer, tmp_path), tmp_path)
    for envoy in ENVOYS:
        program = compile_double(tmp_path, envoy, sanitizer)
        assert run(program, python, 20_000) == IN_THE_END
