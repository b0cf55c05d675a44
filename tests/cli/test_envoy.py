"""`brownout envoy` and `module-path` on a host that has only the base."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import brownout, environment
from tests.support import free_port

SERVER_PACKAGES = [
    "alembic",
    "betterproto2",
    "envoy_data_plane",
    "fastapi",
    "grpc",
    "prometheus_client",
    "psycopg",
    "sqlalchemy",
    "sqlmodel",
    "uvicorn",
]
FLEET = ("--fleet", "edge", "--xds", "127.0.0.1:18000")


def on_base(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run `brownout` where none of the control plane's packages can be imported."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({SERVER_PACKAGES!r}))"
    code = f"{hide}; from brownout_cli.main import run; sys.argv = ['brownout', *{arguments!r}]; run()"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def fake_envoy(tmp_path: Path) -> Path:
    """An executable that prints how it was called."""
    path = tmp_path / "envoy"
    script = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
    path.write_text(f"#!{sys.executable}\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def called(answer: "subprocess.CompletedProcess[str]") -> tuple[list[str], dict[str, str]]:
    assert answer.returncode == 0, answer.stderr
    arguments, env = json.loads(answer.stdout)
    return arguments, env


def test_becomes_envoy(fake_envoy: Path) -> None:
    """Envoy gets the bootstrap, the module's folder and what stands after --, on a base host too."""
    answer = on_base("envoy", *FLEET, "--envoy", str(fake_envoy), "--", "--concurrency", "2")
    arguments, env = called(answer)
    assert arguments[0] == "--config-yaml"
    config: dict[str, Any] = json.loads(arguments[1])
    assert config["node"]["cluster"] == "edge"
    assert arguments[-2:] == ["--concurrency", "2"]
    assert (Path(env["ENVOY_DYNAMIC_MODULES_SEARCH_PATH"]) / "libbrownout.so").is_file()


def test_envoy_by_variable_and_path(fake_envoy: Path) -> None:
    """BROWNOUT_ENVOY names the executable too."""
    arguments, _ = called(on_base("envoy", *FLEET, env={"BROWNOUT_ENVOY": str(fake_envoy)}))
    assert "--config-yaml" in arguments


def test_envoy_that_is_none(tmp_path: Path) -> None:
    """A path that cannot be executed is one clear line."""
    answer = brownout("envoy", *FLEET, "--envoy", str(tmp_path / "no"))
    assert answer.returncode == 1
    assert answer.stderr == f"error: {tmp_path}/no is not an executable file (--envoy, BROWNOUT_ENVOY)\n"


def test_bootstrap_and_module_path_on_base() -> None:
    """The other commands of an Envoy's host need no more either."""
    assert on_base("bootstrap", *FLEET).returncode == 0
    assert on_base("module-path", "--json").returncode == 0
    path = Path(on_base("module-path").stdout.strip())
    assert (path / "libbrownout.so").is_file()


@pytest.mark.parametrize("command", [("serve",), ("up",), ("migrate", "--database", "x.db")])
def test_missing_extra(command: tuple[str, ...]) -> None:
    """What needs the control plane's packages says in one line how to install them."""
    answer = on_base(*command)
    assert answer.returncode == 1
    assert answer.stdout == ""
    [line] = answer.stderr.splitlines()
    assert line.startswith(f"error: `brownout {command[0]}` needs the package ")
    assert line.endswith("Install it with: pip install 'brownout[server]'")


def test_signals_reach_envoy() -> None:
    """The process is Envoy itself: SIGTERM ends it as it ends Envoy."""
    admin = free_port()
    command = ["-m", "brownout_cli", "envoy", *FLEET, "--admin", f"127.0.0.1:{admin}"]
    process = subprocess.Popen(
        [sys.executable, *command], env=environment(), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process.stderr as log:
        for line in log:
            if "starting main dispatch loop" in line:
                break
        executable = Path(f"/proc/{process.pid}/exe").readlink()
        process.terminate()
        log.read()
    assert process.wait(10) == 0
    assert executable.name == "envoy"
