"""REST to the last ACK of twenty real Envoys: an edit, a halt, and its end.

The Envoys have listeners of their own (mode `routes`), since on one host they cannot share a port. The
times are from before the request until the server says that every node has acknowledged all.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.result import Result
from brownout_cli.addresses import Address
from brownout_cli.bootstrap import Example
from tests.e2e.stack import constant, endpoint
from tests.support import ServerProcess, free_port

ENVOYS = 20
EDITS = 20
_FLEET = "edge"


def run(*, slow: bool) -> Iterator[Result]:
    """Measure 10 and 1,000 endpoints."""
    for endpoints in (10, 1_000):
        edits, halts, resumes = _measure(endpoints, EDITS * 5 if slow else EDITS)
        what = f"{ENVOYS} Envoys, {endpoints:,} endpoints"
        for name, times in (("edit", edits), ("halt", halts), ("resume", resumes)):
            p50, p99 = np.quantile(times, (0.5, 0.99))
            yield Result(f"{what}: {name} to last ACK, p50", float(p50), "ms")
            yield Result(f"{what}: {name} to last ACK, p99", float(p99), "ms")


def _measure(endpoints: int, edits: int) -> tuple[list[float], list[float], list[float]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = stack.enter_context(ServerProcess(Path(folder) / "brownout.db"))
        server.apply(_configuration(endpoints))
        for number in range(ENVOYS):
            example = Example(Address("127.0.0.1", free_port()), Address("127.0.0.1", 9))
            envoy = server.envoy(_FLEET, node_id=f"e{number}", mode="routes", example=example)
            stack.enter_context(envoy)
        server.wait_converged(_FLEET, nodes=ENVOYS, timeout=120)
        found: tuple[list[float], list[float], list[float]] = ([], [], [])
        for number in range(edits):
            spec = {"spec": constant((200, f"{number + 2}ms"))}
            acts: tuple[Callable[[], Any], ...] = (
                lambda spec=spec: server.put("profiles/changed", spec),  # type: ignore[misc]  # bound at once
                lambda: server.http.post(f"fleets/{_FLEET}/halt").raise_for_status(),
                lambda: server.http.post(f"fleets/{_FLEET}/resume").raise_for_status(),
            )
            for act, times in zip(acts, found, strict=True):
                times.append(_until_converged(server, act))
        return found


def _configuration(endpoints: int) -> dict[str, Any]:
    listed = [endpoint(f"e{number}", f"/e{number}/", "other") for number in range(endpoints - 1)]
    return {
        "profiles": [
            {"name": "other", "spec": constant((200, "10ms"), (503, "20ms"))},
            {"name": "changed", "spec": constant((200, "1ms"))},
        ],
        "upstreams": [{"name": "backend", "hosts": [{"address": "127.0.0.1", "port": 9}]}],
        "fleets": [
            {
                "name": _FLEET,
                "mode": "routes",
                "endpoints": [*listed, endpoint("changed", "/changed", "changed")],
            }
        ],
    }


def _until_converged(server: ServerProcess, act: Callable[[], Any]) -> float:
    """Do it; milliseconds until all nodes have acknowledged all."""
    started = time.monotonic()
    act()
    while not server.http.get(f"fleets/{_FLEET}/nodes").json()["converged"]:
        time.sleep(0.002)
    return (time.monotonic() - started) * 1000
