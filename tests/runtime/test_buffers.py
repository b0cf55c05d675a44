"""Responses that are held, and then more than a client has room for: Envoy's buffers are small here.

Envoy crashes when a response that is complete is let go and the client's side then pauses it: each test
ends with an Envoy that was alive and exits cleanly.
"""

from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, RawResponse, Upstream, exchange, route, static_bootstrap

from .profiles import always, faults, profile, response, seconds

LIMIT = 32_768
WINDOW = 65_536
TRAILERS = (("x-end", "1"),)
LEFT = ("brownout.in_flight", "brownout.held", "upstream_rq_active")
GRPC = [("content-type", "application/grpc"), ("te", "trailers")]


def bootstrap(upstream: Upstream, rule: dict[str, Any], *, http2: bool = False) -> dict[str, Any]:
    """A listener and an upstream connection that buffer little."""
    config = static_bootstrap(upstream.port, routes=[route("/", rule)], http2=http2)
    for kind in ("listeners", "clusters"):
        config["static_resources"][kind][0]["per_connection_buffer_limit_bytes"] = LIMIT
    (chain,) = config["static_resources"]["listeners"][0]["filter_chains"]
    chain["filters"][0]["typed_config"]["http2_protocol_options"] = {"initial_stream_window_size": WINDOW}
    return config


def answers(
    behaviour: Behaviour,
    rule: dict[str, Any],
    version: str,
    *,
    from_http2: bool = True,
    to_http2: bool = False,
    grpc: bool = False,
) -> list[RawResponse]:
    """What several requests get, one after another; Envoy has to live through them."""
    sent: dict[str, Any] = {"headers": GRPC, "body": b"\0\0\0\0\0"} if grpc else {}
    with (
        Upstream(default=behaviour) as upstream,
        EnvoyProcess(bootstrap(upstream, rule, http2=to_http2), version=version) as envoy,
    ):
        got = [
            exchange(envoy.address(), "POST" if grpc else "GET", http2=from_http2, **sent) for _ in range(3)
        ]
        envoy.wait_none(*(f"cluster.upstream.{name}" for name in LEFT))
    return got


@pytest.mark.parametrize("to_http2", [False, True])
@pytest.mark.parametrize("from_http2", [False, True])
@pytest.mark.parametrize("size", [20_000, 40_000, 300_000, 3_000_000])
def test_a_large_body_with_trailers_passes_whole(
    size: int, from_http2: bool, to_http2: bool, version: str
) -> None:
    """Whatever the client can take at once."""
    behaviour = Behaviour(size=size, trailers=TRAILERS)
    got = answers(behaviour, always(200, "20ms"), version, from_http2=from_http2, to_http2=to_http2)
    assert [(one.status, len(one.body), one.complete) for one in got] == [(200, size, True)] * 3
    assert all(dict(one.trailers) == dict(TRAILERS) for one in got)


@pytest.mark.parametrize("size", [100, 20_000, 40_000, 200_000])
def test_a_large_message_passes_whole(size: int, version: str) -> None:
    """A unary call of gRPC: its status comes in trailers."""
    rule = always(200, "20ms", upstream_protocol="http2")
    got = answers(Behaviour.grpc(b"x" * size), rule, version, to_http2=True, grpc=True)
    assert [len(one.body) for one in got] == [size + 5] * 3
    assert all(dict(one.trailers) == {"grpc-status": "0"} for one in got)


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(body=b""),
        Behaviour(status=204),
        Behaviour(size=100),
        Behaviour(size=100_000),
        Behaviour(body=b"", chunked=True),
        Behaviour(body=b"", trailers=TRAILERS),
        Behaviour(size=100_000, trailers=TRAILERS),
    ],
)
@pytest.mark.parametrize("from_http2", [False, True])
@pytest.mark.parametrize("latency", ["0s", "20ms"])
def test_a_large_body_takes_the_place_of_any(
    behaviour: Behaviour, latency: str, from_http2: bool, version: str
) -> None:
    """`override: upstream_response` with a body beyond every limit."""
    rule = profile(response(503, latency, body="q" * 200_000), override="upstream_response")
    got = answers(behaviour, rule, version, from_http2=from_http2)
    assert [(one.status, len(one.body), one.complete) for one in got] == [(503, 200_000, True)] * 3


@pytest.mark.parametrize(("size", "held"), [(20_000, True), (40_000, False)])
def test_what_may_be_too_much_is_let_go_when_it_is_complete(size: int, held: bool, version: str) -> None:
    """Its delay is cut short then, and counted as skipped; the header says how much was added."""
    rule = always(200, "400ms")
    with (
        Upstream(default=Behaviour(size=size, trailers=TRAILERS)) as upstream,
        EnvoyProcess(bootstrap(upstream, rule, http2=True), version=version) as envoy,
    ):
        answer = exchange(envoy.address(), http2=True)
        assert len(answer.body) == size
        found = faults(answer)
        took = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
        assert (took == pytest.approx(0.4, abs=1e-6)) is held
        assert envoy.stat("cluster.upstream.brownout.skipped_2xx") == (0 if held else 1)


def test_nothing_is_too_much_in_downstream_position(version: str) -> None:
    """There the router is done: the whole delay is kept."""
    rule = always(200, "200ms")
    with Upstream(default=Behaviour(size=40_000, trailers=TRAILERS)) as upstream:
        config = static_bootstrap(upstream.port, routes=[route("/", rule)], position="downstream", http2=True)
        config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = LIMIT
        with EnvoyProcess(config, version=version) as envoy:
            answer = exchange(envoy.address(), http2=True)
            assert (len(answer.body), answer.complete) == (40_000, True)
            found = faults(answer)
            took = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
            assert took == pytest.approx(0.2, abs=1e-6)
            assert envoy.stat("brownout.skipped_2xx") == 0
