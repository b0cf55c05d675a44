"""The sampler under the compiler's sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sanitized import sanitized_engine

ROOT = Path(__file__).parents[2]
REPORTS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # CPython does not free what it has at its end
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "history_size=4",
}


def library(name: str) -> str:
    """Return the path of one of the compiler's run-time libraries."""
    said = subprocess.run(["cc", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    path = Path(said.stdout.strip())
    assert path.is_absolute(), f"the compiler comes without {name}"
    return str(path.resolve())


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("sanitizer", "libraries"),
    [("address,undefined", ["libasan.so", "libubsan.so"]), ("thread", ["libtsan.so"])],
    ids=["address and undefined behaviour", "threads"],
)
def test_no_sanitizer_finds_anything(tmp_path: Path, sanitizer: str, libraries: list[str]) -> None:
    """All tests of the sampler pass on an instrumented engine, without one report."""
    engine = sanitized_engine(sanitizer, tmp_path)
    environment = {name: f"{value}:log_path={tmp_path}/report" for name, value in REPORTS.items()}
    environment |= {
        "BROWNOUT_SANITIZED_ENGINE": str(engine),
        "LD_PRELOAD": " ".join(map(library, libraries)),
        "PYTHONMALLOC": "malloc",
    }
    options = ["-p", "tests.sampler.sanitized", "-p", "no:cacheprovider", "-m", "not slow"]
    tests = ["tests/sampler", "--ignore=tests/sampler/test_memory.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, *tests],
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [path.read_text() for path in tmp_path.glob("report*")] == []
