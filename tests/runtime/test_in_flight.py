"""How many requests are in flight: exact over all workers, and 0 again however they end."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, faults, profile, response

PREFIX = "cluster.upstream.brownout"


@contextmanager
def many_files() -> Iterator[None]:
    """As many open files as the system lets this process have, for it and the Envoy that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def held_together(envoy: EnvoyProcess, upstream: Upstream, count: int) -> list[dict[str, str]]:
    """Send that many requests, each when the one before waits at the gate; open it; read the answers.

    Returns their `x-fault-*` headers in the order of sending, which is the one of admission.
    """
    gate = upstream.gate()
    upstream["/"] = Behaviour(gate=gate)
    host, port = envoy.address()

    async def ask() -> dict[str, str]:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        head, _, _ = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        status, *lines = head.decode().split("\r\n")
        assert status == "HTTP/1.1 200 OK", status
        return faults((name, value) for name, _, value in (line.partition(": ") for line in lines))

    async with asyncio.timeout(200), asyncio.TaskGroup() as group:
        answers = []
        for admitted in range(1, count + 1):
            answers.append(group.create_task(ask()))
            await asyncio.to_thread(gate.wait_waiting, admitted, 60)
        gate.open()
    return [answer.result() for answer in answers]


def count_exactly(count: int, *, http2: bool = False) -> None:
    """`http2` saves open files between Envoy and the upstream."""
    rule = always(200, "50ms", diagnostic=True)
    with (
        many_files(),
        Upstream() as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", rule)], http2=http2), concurrency=4
        ) as envoy,
    ):
        answers = asyncio.run(held_together(envoy, upstream, count))
        seen = [int(answer["x-fault-requests-in-flight"]) for answer in answers]
        assert seen == list(range(count))
        assert len({answer["x-fault-worker-index"] for answer in answers}) >= 2
        wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
        assert envoy.stat(f"{PREFIX}.held") == 0
        assert envoy.stat(f"{PREFIX}.delayed_2xx") <= count
        assert set(envoy.stats(f"^{PREFIX}.errors_").values()) == {0}
        assert faults(exchange(envoy.address(), path="/next"))["x-fault-requests-in-flight"] == "0"


def test_two_thousand_requests_count_exactly() -> None:
    """Two thousand requests over four workers, admitted one at a time and held: the k-th sees exactly k."""
    count_exactly(2000)


@pytest.mark.slow
def test_ten_thousand_requests_count_exactly() -> None:
    """The same with ten thousand."""
    count_exactly(10_000, http2=True)


def test_the_scope_of_load() -> None:
    """In-flight is the process's for all endpoints; `scope: endpoint` decides by the endpoint's own."""

    def load(scope: str, endpoint: str) -> dict[str, object]:
        return {
            "load_based": {
                "healthy": {"threshold_in_flight": 1, "responses": [response(200)]},
                "tipping_point": {"threshold_in_flight": 2, "responses": [response(503)]},
                "scope": scope,
            },
            "endpoint": endpoint,
        }

    routes = [
        route("/hold", always(200, endpoint="hold")),
        route("/process", load("process", "p")),
        route("/endpoint", load("endpoint", "e")),
    ]
    with Upstream() as upstream, EnvoyProcess(static_bootstrap(upstream.port, routes=routes)) as envoy:
        gate = upstream.gate()
        upstream["/hold"] = Behaviour(gate=gate)
        assert exchange(envoy.address(), path="/process").status == 200

        async def with_three_held() -> None:
            loop = asyncio.get_running_loop()
            held = [
                loop.run_in_executor(None, lambda: exchange(envoy.address(), path="/hold")) for _ in range(3)
            ]
            await asyncio.to_thread(gate.wait_waiting, 3)
            for path, status in {"/process": 503, "/endpoint": 200}.items():
                answer = await asyncio.to_thread(exchange, envoy.address(), path=path)
                assert answer.status == status
                assert faults(answer)["x-fault-requests-in-flight"] == "3"
            gate.open()
            await asyncio.gather(*held)

        asyncio.run(with_three_held())


@pytest.mark.parametrize("end", ["reset-before", "reset-after", "timeout", "no-upstream"])
def test_it_returns_to_zero(end: str, version: str) -> None:
    """Resets, timeouts and absent upstreams leave nothing in flight and no timer."""
    routes = [
        route(
            "/",
            profile(response(200, "10s")),
            timeout="0.2s",
            retry_policy={"retry_on": "reset", "num_retries": 2},
        )
    ]
    with Upstream() as upstream:
        upstream["/reset-before"] = Behaviour(reset="before")
        upstream["/reset-after"] = Behaviour(reset="after")
        with EnvoyProcess(static_bootstrap(upstream.port, routes=routes), version=version) as envoy:
            if end == "no-upstream":
                upstream.stop()
            for _ in range(5):
                assert exchange(envoy.address(), path=f"/{end}").status in {0, 502, 503, 504}
            wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
            assert envoy.stat(f"{PREFIX}.held") == 0
            if end == "no-upstream":
                upstream.start()
