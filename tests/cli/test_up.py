"""`brownout up`: everything on one machine, and nothing left of it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from brownout_cli.addresses import Address
from brownout_cli.up.traffic import send_traffic
from tests.cli.running import brownout, environment
from tests.support import free_port, wait_until

FREE = [f"--{name}-port=0" for name in ("http", "xds", "envoy", "admin", "upstream")]


def up(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "brownout_cli", "up", "--data-dir", str(folder), *FREE, *arguments]
    return subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )


def descendants(pid: int) -> set[int]:
    """The processes that a process started, and those that they started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    children = {int(child) for child in path.read_text().split()} if path.exists() else set()
    return children.union(*(descendants(child) for child in children))


def gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def started(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """The document that `up --json` prints when everything runs."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    document: dict[str, Any] = json.loads(line)
    return document


def test_once(tmp_path: Path) -> None:
    """`--once` prints URLs and a table of configured against observed, ends everything, and exits with 0."""
    answer = brownout("up", "--once", "--requests=50", "--data-dir", str(tmp_path / "data"), *FREE)
    assert answer.returncode == 0, answer.stderr
    assert "on this machine only (loopback)" in answer.stdout
    assert "REST         http://127.0.0.1:" in answer.stdout
    [pay] = [line for line in answer.stdout.splitlines() if line.startswith("pay")]
    assert pay.split()[1:5] == ["200", "95.0", "/", pay.split()[4]]


def test_once_again_keeps_what_was_configured(tmp_path: Path) -> None:
    """A second run finds the configuration of the first, changed or not, on other ports."""
    folder = tmp_path
    with up(folder, "--json", "--requests=0") as process:
        rest = started(process)["urls"]["rest"]
        spec = {"responses": [{"status": 418, "resolution": 10, "distribution": {"p50": "5ms"}}]}
        httpx.put(f"{rest}/profiles/slow-checkout", json={"spec": spec}, trust_env=False).raise_for_status()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    again = brownout("up", "--once", "--json", "--requests=20", "--data-dir", str(folder), *FREE)
    rows = json.loads(again.stdout)["rows"]
    [pay] = [row for row in rows if row["endpoint"] == "pay"]
    assert (pay["status"], pay["configured_share"], pay["observed_share"]) == (418, 1, 1)


def test_observed_is_what_was_configured(tmp_path: Path) -> None:
    """The observed median of a fault is near the configured one; endpoints without a fault have their own."""
    answer = brownout("up", "--once", "--json", "--data-dir", str(tmp_path), *FREE)
    rows = {(row["endpoint"], row["status"]): row for row in json.loads(answer.stdout)["rows"]}
    pay = rows["pay", 200]
    assert pay["configured"][0] == pytest.approx(0.080, rel=0.01)
    assert pay["observed"][0] == pytest.approx(0.080, rel=0.25)
    assert 0 < rows["pay", 503]["observed_share"] < 0.15
    assert rows["health", 200]["configured"] is None
    assert rows["health", 200]["observed"][0] < 0.020


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_every_process(tmp_path: Path, number: int) -> None:
    """A signal ends all that was started, and the exit code is 0."""
    with up(tmp_path, "--json", "--requests=0") as process:
        urls = started(process)["urls"]
        assert httpx.get(f"{urls['envoy']}/health", trust_env=False).status_code == 200
        pids = descendants(process.pid)
        assert len(pids) == 2
        process.send_signal(number)
        assert process.wait(20) == 0
        assert gone(pids)


def test_signal_while_it_starts(tmp_path: Path) -> None:
    """A signal in the middle of the start or of the traffic ends it in the same way."""
    with up(tmp_path, "--requests", "100000") as process:
        assert process.stdout is not None
        assert "on this machine only" in process.stdout.readline()
        pids = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert gone(pids)


def test_second_one_in_the_same_folder(tmp_path: Path) -> None:
    """A second `up` on the same data is refused, and says which process has it."""
    with up(tmp_path, "--json", "--requests=0") as process:
        started(process)
        answer = brownout("up", "--data-dir", str(tmp_path), *FREE)
        process.terminate()
        assert answer.returncode == 1
        assert f"belongs to process {process.pid}" in answer.stderr


def test_kill_ends_every_process(tmp_path: Path) -> None:
    """Even SIGKILL leaves nothing behind."""
    with up(tmp_path, "--json", "--requests=0") as process:
        started(process)
        pids = descendants(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: gone(pids), what="the end of all processes")


def test_death_of_envoy_is_told(tmp_path: Path) -> None:
    """When Envoy dies everything ends, with its last lines and exit code 1."""
    with up(tmp_path, "--json", "--requests=0") as process:
        started(process)
        pids = descendants(process.pid)
        [envoy] = [pid for pid in pids if Path(f"/proc/{pid}/exe").readlink().name == "envoy"]
        os.kill(envoy, signal.SIGKILL)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 1
        assert f"error: Envoy ended with exit code -9; the end of {tmp_path}/envoy.log:" in errors
        assert "starting workers" in errors
        assert gone(pids)


def test_envoy_that_does_not_start(tmp_path: Path) -> None:
    """An Envoy that fails at start ends everything, and the message has what it said."""
    broken = tmp_path / "envoy"
    broken.write_text("#!/bin/sh\necho cannot go on >&2\nexit 3\n")
    broken.chmod(0o755)
    answer = brownout("up", "--data-dir", str(tmp_path / "data"), "--envoy", str(broken), *FREE)
    assert answer.returncode == 1
    assert "error: Envoy ended with exit code 3; the end of " in answer.stderr
    assert "cannot go on" in answer.stderr


@pytest.mark.parametrize("name", ["http", "xds", "envoy", "admin", "upstream"])
def test_taken_port(tmp_path: Path, name: str) -> None:
    """A port that is taken is named with the option that chooses another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = brownout("up", "--once", "--data-dir", str(tmp_path), *FREE, f"--{name}-port={port}")
    assert answer.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use: choose another with --{name}-port" in answer.stderr


def configured(folder: Path, change: Callable[[httpx.Client], httpx.Response]) -> None:
    """Run `up` on a folder once, and change what is configured there."""
    with up(folder, "--json", "--requests=0") as process:
        with httpx.Client(base_url=started(process)["urls"]["rest"], trust_env=False) as client:
            change(client).raise_for_status()
        process.terminate()
        assert process.wait(20) == 0


def test_another_listener(tmp_path: Path) -> None:
    """A listener that was given another name is the one that is moved to this time's port, and shown."""
    listeners = [{"name": "web", "address": "127.0.0.1", "port": free_port()}]
    configured(tmp_path, lambda client: client.put("/fleets/edge", json={"listeners": listeners}))
    answer = brownout("up", "--once", "--json", "--requests=2", "--data-dir", str(tmp_path), *FREE)
    assert answer.returncode == 0, answer.stderr
    assert {row["count"] for row in json.loads(answer.stdout)["rows"] if row["observed"]} <= {1, 2}


def test_a_share_of_the_requests(tmp_path: Path) -> None:
    """What a fault injects into some responses only is not compared with what all of them were."""
    fault = {"profile": "slow-checkout", "percent": 50}
    configured(tmp_path, lambda client: client.put("/fleets/edge/endpoints/pay/fault", json=fault))
    answer = brownout("up", "--once", "--json", "--requests=2", "--data-dir", str(tmp_path), *FREE)
    rows = [row for row in json.loads(answer.stdout)["rows"] if row["endpoint"] == "pay"]
    assert [row["configured"] for row in rows] == [None] * len(rows)


def test_configuration_that_envoy_rejects(tmp_path: Path) -> None:
    """It is told at once, in Envoy's words."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listeners = [
            {"name": "http", "address": "127.0.0.1", "port": free_port()},
            {"name": "other", "address": "127.0.0.1", "port": taken.getsockname()[1]},
        ]
        configured(tmp_path, lambda client: client.put("/fleets/edge", json={"listeners": listeners}))
        answer = brownout("up", "--once", "--data-dir", str(tmp_path), *FREE)
    assert answer.returncode == 1
    assert "error: Envoy has rejected the configuration:\n  lds: " in answer.stderr
    assert "Address already in use" in answer.stderr


async def test_traffic_that_is_not_answered_ends() -> None:
    """What was seen in time is returned."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if not answered:
            answered.append(True)
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            await reader.read()  # until the client gives up
        writer.close()

    answered: list[bool] = []
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        envoy = Address(*server.sockets[0].getsockname())
        seen = await send_traffic(envoy, [("pay", "/pay")], 3, lanes=2, within=0.5, advance=lambda: None)
    assert [(each.endpoint, each.status) for each in seen] == [("pay", 204)]
