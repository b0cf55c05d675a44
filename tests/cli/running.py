"""The command line as a user runs it: another process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BROWNOUT = [sys.executable, "-m", "brownout_cli"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment without settings of whoever runs the tests, and a wide terminal."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BROWNOUT_")}
    return clean | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"} | dict(extra or {})


def brownout(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `brownout` to its end."""
    return subprocess.run(
        [*BROWNOUT, *arguments],
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
