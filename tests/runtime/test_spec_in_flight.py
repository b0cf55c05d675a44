"""In-flight counts in the order in which requests are admitted."""

import asyncio
import resource

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, faults

COUNT = 2_000


async def admit_one_by_one(envoy: EnvoyProcess, upstream: Upstream) -> list[dict[str, str]]:
    """Send each request when the one before it has reached the upstream; read all answers at the end."""
    gate = upstream.gate()
    upstream["/"] = Behaviour(gate=gate)
    host, port = envoy.address()
    connections = []
    for admitted in range(COUNT):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        connections.append((reader, writer))
        await asyncio.to_thread(gate.wait_waiting, admitted + 1)
    gate.open()
    answers = []
    for reader, writer in connections:
        head, _, _ = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        status, *lines = head.decode().split("\r\n")
        assert status == "HTTP/1.1 200 OK"
        answers.append(faults((name, value) for name, _, value in (line.partition(": ") for line in lines)))
    return answers


def test_two_thousand_requests_are_numbered_in_their_order() -> None:
    """Of requests over four workers, admitted one at a time and held together, the n-th says n."""
    _, most = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    routes = [route("/", always(200, "10ms", diagnostic=True))]
    try:
        with (
            Upstream() as upstream,
            EnvoyProcess(static_bootstrap(upstream.port, routes=routes, http2=True), concurrency=4) as envoy,
        ):
            answers = asyncio.run(admit_one_by_one(envoy, upstream))
            assert [int(one["x-fault-requests-in-flight"]) for one in answers] == list(range(COUNT))
            assert len({one["x-fault-worker-index"] for one in answers}) >= 2
            wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
            assert faults(exchange(envoy.address(), path="/next"))["x-fault-requests-in-flight"] == "0"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
