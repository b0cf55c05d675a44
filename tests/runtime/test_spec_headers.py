"""What two of the response headers count: matched requests of the whole process, and Envoy's own workers."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    Upstream,
    cluster,
    exchange,
    listener,
    module_filter,
    route,
    static_bootstrap,
    wait_until,
)

from .profiles import always, faults

WORKERS = 4


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def in_flight(envoy: EnvoyProcess, path: str, name: str = "http") -> str:
    """What a request says was in flight."""
    return faults(exchange(envoy.address(name), path=path))["x-fault-requests-in-flight"]


@contextmanager
def waiting(envoy: EnvoyProcess, upstream: Upstream, paths: list[str]) -> Iterator[None]:
    """Have a request at the upstream for each of the paths meanwhile."""
    gate = upstream.gate()
    address = envoy.address()
    with ThreadPoolExecutor(len(paths)) as pool:
        for path in paths:
            upstream[path] = Behaviour(gate=gate)
        answers = [pool.submit(exchange, address, path=path) for path in paths]
        gate.wait_waiting(len(paths))
        try:
            yield
        finally:
            gate.open()
        assert {answer.result().status for answer in answers} == {200}


def test_only_matched_requests_are_in_flight(upstream: Upstream) -> None:
    """A request that no entry matches, or that does not take part, is not counted."""
    endpoints = [
        always(200) | {"match": {"prefix": "/matched"}},
        always(200, percent=0) | {"match": {"prefix": "/no-part"}},
    ]
    config = static_bootstrap(upstream.port, filter_config={"endpoints": endpoints})
    with EnvoyProcess(config) as envoy:
        with waiting(envoy, upstream, ["/other", "/no-part"]):
            assert in_flight(envoy, "/matched") == "0"
        with waiting(envoy, upstream, ["/other", "/matched/slow", "/no-part"]):
            assert in_flight(envoy, "/matched") == "1"


def test_in_flight_is_the_process_s(upstream: Upstream) -> None:
    """Requests of other routes, clusters, listeners and of the other position are in flight as well."""
    routes = [
        route("/one", always(200, endpoint="one")),
        route("/two", always(200, endpoint="two")),
        route("/cluster", always(200), cluster="other"),
    ]
    config = static_bootstrap(upstream.port, routes=routes)
    resources = config["static_resources"]
    resources["clusters"].append(cluster(upstream.port, name="other", filters=[module_filter(None)]))
    resources["clusters"].append(cluster(upstream.port, name="plain"))
    down: dict[str, Any] = route("/down", always(200), cluster="plain")
    resources["listeners"].append(listener([down], name="second", filters=[module_filter(None)]))
    with (
        EnvoyProcess(config, concurrency=2) as envoy,
        waiting(envoy, upstream, ["/one/slow", "/two/slow", "/cluster/slow"]),
    ):
        counts = Counter(in_flight(envoy, path) for path in ("/one", "/two", "/cluster"))
        counts[in_flight(envoy, "/down", "second")] += 1
        assert counts == {"3": 4}


def test_the_worker_is_envoy_s_own(upstream: Upstream) -> None:
    """`x-fault-worker-index` is the worker that served the request, as Envoy numbers and counts them."""
    config = static_bootstrap(upstream.port, routes=[route("/", always(200, diagnostic=True))])
    with EnvoyProcess(config, concurrency=WORKERS) as envoy:
        address = envoy.address()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: exchange(address), range(100)))
        seen = Counter(int(faults(answer)["x-fault-worker-index"]) for answer in answers)

        def accepted() -> dict[int, int]:
            counted = envoy.stats(r"^listener\..*\.worker_\d+\.downstream_cx_total$")
            workers = {int(name.split("worker_")[1].split(".")[0]): int(n) for name, n in counted.items()}
            return {worker: connections for worker, connections in workers.items() if connections}

        wait_until(lambda: sum(accepted().values()) == len(answers))
        assert dict(seen) == accepted()
        assert len(seen) >= 2
