"""REST commit to ACK of one real Envoy.

Both times are the control plane's own: when the writer took up the change, and when Envoy acknowledged it.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.result import Result
from tests.e2e.stack import FLEET, configuration, constant, endpoint
from tests.support import ServerProcess, free_port

EDITS = 60
SLOW_EDITS = 300
_PAUSE = 0.03


def run(*, slow: bool) -> Iterator[Result]:
    """Measure both sizes."""
    few = _milliseconds(10, SLOW_EDITS if slow else EDITS)
    many = _milliseconds(1_000, SLOW_EDITS if slow else EDITS)
    yield Result("10 endpoints, p50", few[0], "ms", 30)
    yield Result("10 endpoints, p99", few[1], "ms", 100)
    yield Result("one changed of 1,000, p50", many[0], "ms", 60)
    yield Result("one changed of 1,000, p99", many[1], "ms", 200)
    # Envoy builds the configuration of all its routes anew at each push, which takes most of this.
    yield Result("1,000 to 10, p50", many[0] / few[0], "ratio")
    yield Result("1,000 to 10, p99", many[1] / few[1], "ratio")


def _milliseconds(endpoints: int, edits: int) -> tuple[float, float]:
    """Median and 99th percentile over that many edits of one endpoint's profile."""
    listed = [endpoint(f"e{number}", f"/e{number}/", "other") for number in range(endpoints - 1)]
    profiles = {"other": constant((200, "10ms"), (503, "20ms")), "changed": constant((200, "1ms"))}
    document = configuration(
        free_port(), 9, profiles=profiles, endpoints=[*listed, endpoint("changed", "/changed", "changed")]
    )
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "brownout.db") as server:
        server.apply(document)
        with server.envoy(FLEET):
            server.wait_converged(FLEET, timeout=60)
            times = [_edit(server, number) for number in range(edits)]
    p50, p99 = np.quantile(times, (0.5, 0.99))
    return float(p50), float(p99)


def _edit(server: ServerProcess, number: int) -> float:
    """Change the profile; milliseconds until the ACK."""
    server.put("profiles/changed", {"spec": constant((200, f"{number + 2}ms"))})
    revision = server.http.get("revisions", params={"limit": 1}).json()["items"][0]
    while (ack := _acknowledged(server))["revision"] < revision["number"]:
        time.sleep(_PAUSE)  # rarely, so as not to be measured
    taken = datetime.fromisoformat(ack["at"]) - datetime.fromisoformat(revision["at"])
    return taken.total_seconds() * 1000


def _acknowledged(server: ServerProcess) -> dict[str, Any]:
    [node] = server.http.get(f"fleets/{FLEET}/nodes").json()["items"]
    routes: dict[str, Any] = node["acknowledged"]["rds"]
    return routes
