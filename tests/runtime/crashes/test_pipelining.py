"""HTTP/1 pipelining: a delayed response while the one before it still waits to be read by the client."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    Http1Client,
    Upstream,
    request_bytes,
    route,
    static_bootstrap,
)

from .survivors import FAULT_TEXT, FILLER, HOLD, PACE, TRAILERS, Envoys, Outcome, promised, wait_due

FIRST = 4_000_000
LIMITS = {"usual": None, "small": 32_768}
SECOND = {
    "body": (Behaviour(size=10), always(200, HOLD), Outcome(200, b"0123456789"), True),
    "large": (Behaviour(size=160_000), always(200, HOLD), Outcome(200, FILLER * 10_000), True),
    "headers": (Behaviour(status=204), always(204, HOLD), Outcome(204, b""), True),
    "error": (Behaviour(status=404), always(404, HOLD), Outcome(404), True),
    "trailers": (Behaviour(trailers=TRAILERS), always(200, HOLD), Outcome(trailers=TRAILERS), False),
    "forced": (Behaviour(), always(503, HOLD), Outcome(503, FAULT_TEXT), True),
    "rewritten": (
        Behaviour(),
        always(503, HOLD, override="upstream_response"),
        Outcome(503, FAULT_TEXT),
        True,
    ),
}
ROUTES = [
    PACE,
    route("/first"),
    *(route(f"/{name}", rule) for name, (_, rule, _, _) in SECOND.items()),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {f"/{name}": behaviour for name, (behaviour, *_) in SECOND.items()}
    with Upstream(paths | {"/first": Behaviour(size=FIRST)}) as server:
        yield server


def read_until_the_second(client: Http1Client, upstream: Upstream, name: str, count: int) -> None:
    """Read slowly, and no more of the first response than the second request needs to reach the upstream."""
    while upstream.counts[f"/{name}"] < count:
        if client.readable(0.0):
            client.read_once(4096)
        with suppress(AssertionError):
            upstream.wait_for(lambda server: server.counts[f"/{name}"] >= count, 0.001)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", SECOND)
def test_a_response_behind_one_that_is_not_read(
    envoys: Envoys, upstream: Upstream, position: str, name: str, limit: str
) -> None:
    """Two requests in one write: both answers come whole and in order."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position)
    if LIMITS[limit]:
        config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = LIMITS[limit]
    *_, outcome, alone = SECOND[name]
    with envoys.on(config) as envoy, Http1Client(envoy.address(), receive_buffer=4096) as client:
        reached = upstream.counts[f"/{name}"] + 1
        client.send(request_bytes(path="/first") + request_bytes(path=f"/{name}"))
        read_until_the_second(client, upstream, name, reached)
        wait_due(envoy)
        first, second = client.answer(), client.answer()
        assert (first.status, len(first.body), first.complete) == (200, FIRST, True)
        replace(outcome, delay=promised(position, alone=alone)).check(second)


def test_a_client_that_reads_nothing(envoys: Envoys, upstream: Upstream, position: str) -> None:
    """With the kernel's own buffers, which take most of four megabytes."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position)
    with envoys.on(config) as envoy, Http1Client(envoy.address()) as client:
        client.send(request_bytes(path="/first") + request_bytes(path="/body"))
        wait_due(envoy)
        assert len(client.answer().body) == FIRST
        SECOND["body"][2].check(client.answer())


def test_many_in_one_write(envoys: Envoys, upstream: Upstream, position: str) -> None:
    """Delayed responses one behind another, each held while nothing of the one before has been read."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position)
    config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = 16_384
    with envoys.on(config) as envoy, Http1Client(envoy.address(), receive_buffer=4096) as client:
        for _ in range(2):
            client.send(b"".join(request_bytes(path=f"/{name}") for name in SECOND))
            wait_due(envoy)
            for *_, outcome, alone in SECOND.values():
                replace(outcome, delay=promised(position, alone=alone)).check(client.answer())
