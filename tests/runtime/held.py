"""Requests that are in flight for as long, and as many, as a test wants."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from tests.support import Behaviour, EnvoyProcess, Gate, RawResponse, Upstream, exchange, wait_until

IN_FLIGHT = "cluster.upstream.brownout.in_flight"
MOST = 16


class Held:
    """Requests for one path that the upstream keeps at a gate."""

    def __init__(self, envoy: EnvoyProcess, path: str, gate: Gate, pool: ThreadPoolExecutor) -> None:
        self._envoy, self._path, self._gate, self._pool = envoy, path, gate, pool
        self._answers: list[Future[RawResponse]] = []

    def set(self, count: int) -> None:
        """Have exactly so many in flight, and nothing else."""
        address = self._envoy.address()
        while len(self._answers) > count:
            self._gate.release()
            assert self._answers.pop(0).result().status == 200
        while len(self._answers) < count:
            self._answers.append(self._pool.submit(exchange, address, path=self._path))
            self._gate.wait_waiting(len(self._answers))
        wait_until(lambda: self._envoy.stat(IN_FLIGHT) == count)


@contextmanager
def held(envoy: EnvoyProcess, upstream: Upstream, path: str = "/hold") -> Iterator[Held]:
    """None in flight at first, and none afterwards."""
    gate = upstream.gate()
    upstream[path] = Behaviour(gate=gate)
    with ThreadPoolExecutor(MOST) as pool:
        try:
            yield Held(envoy, path, gate, pool)
        finally:
            gate.open()
    wait_until(lambda: envoy.stat(IN_FLIGHT) == 0)
