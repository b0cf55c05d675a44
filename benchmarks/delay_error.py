"""Delay error (observed - target), beside Envoy's own fault filter.

A client asks both in turn, over one connection each, and watches its socket without sleeping; every number is
from the same run. The targets have fractions of a millisecond, which Envoy's own timers do not know. What is
observed is all that a client sees: the way there and back too, and for the fault filter the upstream's time.
What the way takes is in the table: the error of the delay itself is the rest.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

from benchmarks._proxied import answering_envoy, delay, fault_route, with_fault_filter
from benchmarks.result import Result
from tests.support import EnvoyProcess, route, static_bootstrap

TARGETS_MS = (2.4, 5.7, 11.3)
REQUESTS, SLOW_REQUESTS = 300, 3_000
WARM_UP = 20
FIFTH = 0.2


def run(*, slow: bool) -> Iterator[Result]:
    """Measure each target."""
    requests = SLOW_REQUESTS if slow else REQUESTS
    routes = [route(f"/module/{target}/", delay(f"{target}ms")) for target in TARGETS_MS]
    routes += [fault_route(f"/fault/{target}/", f"{target / 1000:.4f}s") for target in TARGETS_MS]
    routes += [route("/plain/")]
    with answering_envoy() as port:
        config = with_fault_filter(static_bootstrap(port, routes=routes))
        with EnvoyProcess(config) as envoy:
            errors = [_errors(envoy.address(), target, requests) for target in TARGETS_MS]
    module, fault, plain = (np.concatenate(one) for one in zip(*errors, strict=True))
    for name, percentile in {"median": 50, "p99": 99}.items():
        ours, theirs = np.percentile(module, percentile), np.percentile(fault, percentile)
        way = np.percentile(plain, percentile)
        yield Result(f"{name}, the way there and back", float(way), "µs")
        yield Result(f"{name}, Brownout", float(ours), "µs")
        yield Result(f"{name}, Envoy's fault filter", float(theirs), "µs")
        yield Result(f"{name}, Brownout to Envoy's", float(ours / theirs), "ratio", FIFTH)
        yield Result(
            f"{name}, the same without the way", float((ours - way) / (theirs - way)), "ratio", FIFTH
        )


def _errors(address: tuple[str, int], target_ms: float, requests: int) -> np.ndarray:
    """Absolute errors in µs, shape (3, requests): the module's, the fault filter's, without delay."""
    targets_ms = {f"/module/{target_ms}/": target_ms, f"/fault/{target_ms}/": target_ms, "/plain/": 0.0}
    found = np.empty((len(targets_ms), requests))
    with ExitStack() as stack:
        connections = {path: stack.enter_context(socket.create_connection(address)) for path in targets_ms}
        for connection in connections.values():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
        for number in range(-WARM_UP, requests):
            for one, (path, connection) in enumerate(connections.items()):
                took = _exchange(connection, path)
                if number >= 0:
                    found[one, number] = abs(took / 1_000 - targets_ms[path] * 1_000)
    return found


def _exchange(connection: socket.socket, path: str) -> int:
    """Nanoseconds from a request to its response."""
    started = time.perf_counter_ns()
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
    while True:
        try:
            connection.recv(65_536)
        except BlockingIOError:
            continue
        return time.perf_counter_ns() - started
