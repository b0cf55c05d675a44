"""The engine with one of the compiler's sanitizers in it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CALLS = {"address,undefined": "__asan_", "thread": "__tsan_"}


def sanitized_engine(sanitizer: str, folder: Path) -> Path:
    """Build it into a folder of the test's own, and return its path.

    Args:
        sanitizer: `address,undefined` or `thread`.
        folder: what the build may write to.
    """
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", str(folder / "built")]
    subprocess.run(build, check=True, cwd=ROOT, env=os.environ | {"BROWNOUT_SANITIZE": sanitizer})
    (engine,) = folder.glob("built/filter_runtime/_engine*.so")
    symbols = subprocess.run(["nm", "-D", engine], check=True, capture_output=True, text=True).stdout
    assert _CALLS[sanitizer] in symbols
    return engine
