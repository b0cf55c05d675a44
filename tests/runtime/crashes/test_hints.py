"""Responses that are preceded by a 103.

With that one the router takes the upstream's stream to be the one that the client's pauses concern: from
then on they are not only counted, but reach a stream that has gone.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.runtime.profiles import always, profile, response
from tests.support import (
    Behaviour,
    Http1Client,
    Http2Client,
    Upstream,
    request_bytes,
    route,
    static_bootstrap,
)

from .survivors import FAULT_TEXT, HOLD, TRAILERS, Envoys, Outcome, promised

# The filter cannot see a 103, and Envoy still dies of it: see "Known limits" in docs/explanation/runtime.md.
pytestmark = pytest.mark.slow
BIG = 8 * 1024 * 1024
WIDE = 256 * 1024 * 1024
LONG = "300ms"
LARGE = "q" * 100_000
SENT = {
    "small": Behaviour(informational=103),
    "empty": Behaviour(informational=103, body=b""),
    "large": Behaviour(informational=103, size=100_000),
    "trailers": Behaviour(informational=103, trailers=TRAILERS),
}
RULES = {
    "delay": always(200, HOLD),
    "forced": always(503, HOLD),
    "rewritten": always(503, HOLD, override="upstream_response"),
    "rewritten-large": profile(response(503, HOLD, body=LARGE), override="upstream_response"),
    "rewritten-now": profile(response(503, body=LARGE), override="upstream_response"),
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream({f"/{rule}/{name}": sent for rule in RULES for name, sent in SENT.items()}) as server:
        yield server


def expected(rule: str, name: str, position: str) -> Outcome:
    """What the client has to get after the 103, or without it."""
    sent = SENT[name]
    if rule == "delay":
        body = b"0123456789abcdef" * 6250 if sent.size else sent.body
        outcome = Outcome(200, body, sent.trailers)
    else:
        large = rule in {"rewritten-large", "rewritten-now"}
        outcome = Outcome(503, LARGE.encode() if large else FAULT_TEXT)
    delay = None if rule == "rewritten-now" else promised(position, alone=not sent.trailers)
    return replace(outcome, delay=delay)


@pytest.mark.parametrize("limit", [1024, 32_768])
@pytest.mark.parametrize("name", SENT)
@pytest.mark.parametrize("rule", RULES)
def test_many_after_hints(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, *, rule: str, name: str, limit: int
) -> None:
    """Several at once, at a listener that buffers little."""
    routes = [route(f"/{each}/", config) for each, config in RULES.items()]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=to_http2)
    config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = limit
    path, outcome = f"/{rule}/{name}", expected(rule, name, position)
    with envoys.on(config) as envoy:
        with Http2Client(envoy.address()) as client:
            for number in [client.request(path=path) for _ in range(25)]:
                outcome.check(client.answer(number))
        with Http1Client(envoy.address()) as client1:
            client1.send(request_bytes(path=path))
            outcome.check(client1.answer())


@pytest.mark.parametrize("rule", ["delay", "forced", "rewritten"])
def test_a_download_that_backs_up_during_the_hold(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, rule: str
) -> None:
    """With the usual buffers: one delayed response, and one download on the same connection."""
    status = 200 if rule == "delay" else 503
    override = {"override": "upstream_response"} if rule == "rewritten" else {}
    upstream["/big"] = Behaviour(size=BIG)
    routes = [route("/big"), route("/", always(status, LONG, **override))]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=to_http2)
    path = f"/{rule}/small"
    with (
        envoys.on(config) as envoy,
        Http2Client(
            envoy.address(), connection_window=WIDE, stream_window=WIDE, receive_buffer=4096
        ) as client,
    ):
        asked = upstream.counts[path]
        held = client.request(path=path)
        upstream.wait_for(lambda server: server.counts[path] > asked)
        envoy.admin("/reset_counters", method="POST")
        big = client.request(path="/big")
        envoy.wait_stat("cluster.upstream.upstream_flow_control_paused_reading_total")
        assert client.answer(held).status == status
        assert len(client.answer(big).body) == BIG
