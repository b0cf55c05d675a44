"""REST commit to the last of many streams, beside bare grpc.aio.

`brownout serve`, a thousand fake Envoys in a second process, and a third process that sends the same bytes
to as many streams with nothing but grpc.aio. The times are those of one clock: from before the PUT (or the
send) to the moment at which the last stream has the routes. `--slow` takes five thousand.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from tests.e2e.stack import FLEET, configuration, constant, endpoint
from tests.support import ServerProcess, free_port

STREAMS = 1_000
SLOW_STREAMS = 5_000
ENDPOINTS = 10
EDITS = 20
_KIB = 1024


def run(*, slow: bool) -> Iterator[Result]:
    """Measure both variants."""
    for variant in ("sotw", "delta"):
        yield from _measure(variant, SLOW_STREAMS if slow else STREAMS)


def _measure(variant: str, streams: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name, ServerProcess(Path(name) / "brownout.db") as server:
        server.apply(_configuration())
        before = _memory(server.process.pid)
        with _process("_push_clients", str(server.xds), str(streams), variant) as clients:
            _answer(clients)
            idle = (_memory(server.process.pid) - before) / streams / _KIB
            cpu = _cpu(server.process.pid)
            ours = [_edit(server, clients, number) for number in range(EDITS)]
            cpu = (_cpu(server.process.pid) - cpu) / EDITS
            message = Path(name) / "message"
            _ask(clients, f"save {message}")
        size = message.stat().st_size
        theirs = _bare(message, streams, variant)
    last, bare = (float(np.median(each)) * 1000 for each in (ours, theirs))
    what = f"{variant}, {streams:,} streams"
    yield Result(f"{what}: response", size, "bytes")
    yield Result(f"{what}: commit to last, p50", last, "ms")
    yield Result(f"{what}: bare grpc.aio, p50", bare, "ms")
    yield Result(f"{what}: to bare", last / bare, "ratio", 1.5)
    yield Result(f"{what}: server's CPU per commit", cpu * 1000, "ms")
    yield Result(f"{what}: memory per idle stream", idle, "KiB", 64)


def _configuration() -> dict[str, object]:
    listed = [endpoint(f"e{number}", f"/e{number}/", "other") for number in range(ENDPOINTS - 1)]
    profiles = {"other": constant((200, "10ms"), (503, "20ms")), "changed": constant((200, "1ms"))}
    endpoints = [*listed, endpoint("changed", "/changed", "changed")]
    return configuration(free_port(), 9, profiles=profiles, endpoints=endpoints)


def _edit(server: ServerProcess, clients: "subprocess.Popen[str]", number: int) -> float:
    """Change the profile; seconds until the last stream has it."""
    _ask(clients, "expect")
    started = time.monotonic()
    server.put("profiles/changed", {"spec": constant((200, f"{number + 2}ms"))})
    return float(_answer(clients)) - started


def _bare(message: Path, streams: int, variant: str) -> list[float]:
    times: list[float] = []
    with _process("_push_bare", str(message)) as bare:
        address = _answer(bare)
        with _process("_push_clients", address, str(streams), variant) as clients:
            _answer(clients)
            for _ in range(EDITS):
                _ask(clients, "expect")
                started = float(_ask(bare, "go"))
                times.append(float(_answer(clients)) - started)
    return times


@contextmanager
def _process(module: str, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _ask(process: "subprocess.Popen[str]", line: str) -> str:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return _answer(process)


def _answer(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process has ended"
    return line.strip()


def _memory(pid: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _cpu(pid: int) -> float:
    """Seconds of CPU time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


assert FLEET == "edge", "the fake Envoys belong to it"
