"""Instructions that a filter adds to a proxied HTTP/1 request, by callgrind.

Envoy runs under valgrind with one worker and is asked over one connection; it proxies to another Envoy. The
count repeats to a few parts in a thousand, which time on a shared machine does not. A delay keeps requests
apart, which costs Envoy something by itself: what delays is compared with requests that are as far apart.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks._proxied import BODY, answering_envoy, delay, fault_route, with_fault_filter
from benchmarks.result import Result
from filter_runtime import module_path
from tests.support import envoy_binary, route, static_bootstrap, wait_until

REQUESTS, SLOW_REQUESTS = 200, 1_000
WARM_UP = 50
# Seconds; long enough that every response is held, though valgrind makes all else some fifty times slower.
HELD = 0.03
INJECTING = 30_000
LABEL = "slow-checkout@7"
IDLE = 1.2
ENDPOINTS = (1, 20)
FORCED = ("local_response", "upstream_response")


def run(*, slow: bool) -> Iterator[Result]:
    """Measure both filters, idle and delaying."""
    if shutil.which("valgrind") is None:
        raise SystemExit("instructions: valgrind is missing (Debian and Ubuntu: apt-get install valgrind)")
    requests = SLOW_REQUESTS if slow else REQUESTS
    with answering_envoy() as port:
        routes = [
            route("/held/", delay(f"{HELD}s") | {"label": LABEL}),
            route("/diagnostic/", delay(f"{HELD}s") | {"label": LABEL, "diagnostic": True}),
            route("/silent/", delay(f"{HELD}s") | {"headers": False}),
            *(route(f"/{how}/", _refusal(how)) for how in FORCED),
            fault_route("/fault/", f"{HELD}s"),
            route("/"),
        ]
        untouched = static_bootstrap(port, routes=routes, position="none")
        fault = with_fault_filter(static_bootstrap(port, routes=routes, position="none"))
        module = static_bootstrap(port, routes=routes)
        plain = _instructions(untouched, "/", requests)
        apart = _instructions(untouched, "/", requests, pause=HELD)
        fault_idle = _instructions(fault, "/", requests) - plain
        idle = _instructions(module, "/", requests) - plain
        fault_held = _instructions(fault, "/fault/", requests) - apart
        silent = _instructions(module, "/silent/", requests) - apart
        held = _instructions(module, "/held/", requests) - apart
        diagnostic = _instructions(module, "/diagnostic/", requests) - apart
        forced = {how: _instructions(module, f"/{how}/", requests) - apart for how in FORCED}
        missed = {many: _instructions(_matching(port, many), "/", requests) - plain for many in ENDPOINTS}
        matched = {
            many: _instructions(_matching(port, many), f"/endpoint-{many}/", requests) - plain
            for many in ENDPOINTS
        }
    yield Result("no filter, whole request", plain, "instructions")
    yield Result("no filter, requests apart", apart, "instructions")
    yield Result("Envoy's fault filter, idle", fault_idle, "instructions")
    yield Result("Brownout, idle route", idle, "instructions")
    yield Result("idle, Brownout to Envoy's", idle / fault_idle, "ratio", IDLE)
    yield Result("Envoy's fault filter, delaying", fault_held, "instructions")
    yield Result("Brownout, delaying without headers", silent, "instructions")
    yield Result("Brownout, delaying with all headers", held, "instructions", INJECTING)
    yield Result("Brownout, and with the worker's index", diagnostic, "instructions")
    for how, cost in forced.items():
        yield Result(f"Brownout, forcing a delayed 503 as {how}, all headers", cost, "instructions")
    for many, cost in missed.items():
        yield Result(f"Brownout, none of {many} endpoints matches", cost, "instructions")
    for many, cost in matched.items():
        yield Result(
            f"Brownout, {many} of {many} endpoints matches, no delay, no headers", cost, "instructions"
        )


def _refusal(how: str) -> dict[str, Any]:
    """A delayed 503 in place of the upstream's 200, with the same body."""
    entry = delay(f"{HELD}s")["responses"][0] | {"status": 503, "local_response": {"body": BODY}}
    return {"responses": [entry], "override": how, "label": LABEL}


def _matching(port: int, endpoints: int) -> dict[str, Any]:
    """Envoy whose filter compares every request with endpoints, in order, and injects next to nothing."""
    listed = [
        {"match": {"prefix": f"/endpoint-{index}/"}, "headers": False} | delay("0s")
        for index in range(1, endpoints + 1)
    ]
    return static_bootstrap(port, filter_config={"endpoints": listed})


def _instructions(config: dict[str, Any], path: str, requests: int, *, pause: float = 0.0) -> float:
    """Instructions of one request, in all threads of Envoy."""
    with _under_callgrind(config) as (address, control, folder), socket.create_connection(address) as client:
        client.settimeout(60)
        _ask(client, path, WARM_UP, pause)
        control("-i", "on")
        _ask(client, path, WARM_UP, pause)
        control("-z")
        _ask(client, path, requests, pause)
        control("-d")
        (total,) = wait_until(lambda: _totals(folder), timeout=60, what="callgrind's dump")
    return total / requests


def _ask(client: socket.socket, path: str, requests: int, pause: float) -> None:
    request = f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode()
    for _ in range(requests):
        time.sleep(pause)
        client.sendall(request)
        answer = b""
        while not answer.endswith(BODY.encode()):
            answer += client.recv(65_536)


def _totals(folder: Path) -> list[int]:
    """The totals of the dumps so far that have any."""
    texts = [path.read_text() for path in folder.glob("callgrind.*")]
    found = [int(total) for text in texts for total in re.findall(r"^totals: (\d+)", text, re.MULTILINE)]
    return [total for total in found if total]


@contextmanager
def _under_callgrind(
    config: dict[str, Any],
) -> Iterator[tuple[tuple[str, int], Callable[..., object], Path]]:
    """Envoy under valgrind: where it listens, how to control callgrind, and where that writes."""
    with tempfile.TemporaryDirectory(prefix="brownout-callgrind-") as name:
        folder = Path(name)
        (folder / "envoy.json").write_text(json.dumps(config))
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        tool.append(f"--callgrind-out-file={folder}/callgrind")
        envoy = [str(envoy_binary()), "-c", f"{folder}/envoy.json", "--admin-address-path", f"{folder}/admin"]
        process = subprocess.Popen(
            [*tool, *envoy, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"],
            env=os.environ | {"ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(module_path())},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def control(*command: str) -> None:
            subprocess.run(
                ["callgrind_control", *command, str(process.pid)], check=True, capture_output=True, cwd=folder
            )

        try:
            wait_until((folder / "admin").exists, timeout=120, what="Envoy under valgrind")
            address = wait_until(lambda: _address(folder), timeout=120, what="its listener")
            assert address
            yield address, control, folder
        finally:
            process.kill()
            process.wait()


def _address(folder: Path) -> tuple[str, int] | None:
    """Where the listener is, once Envoy is ready."""
    admin = f"http://{(folder / 'admin').read_text()}"
    with httpx.Client(base_url=admin, trust_env=False, timeout=30) as http:
        try:
            if http.get("/ready").status_code != httpx.codes.OK:
                return None
        except httpx.TransportError:
            return None
        (status,) = http.get("/listeners?format=json").json()["listener_statuses"]
    bound = status["local_address"]["socket_address"]
    return bound["address"], bound["port_value"]
