"""Responses that are held, and then more than a client has room for: Envoy's buffers are small here.

Envoy crashes when a response that is complete is let go and the client's side then pauses it: each test
ends with an Envoy that was alive and exits cleanly.
"""

from collections.abc import Iterator
from contextlib import ExitStack
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
    rule = always(200, "20ms")
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


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 1024, LIMIT, None])
@pytest.mark.parametrize("size", [0, 1000, 1025, 20_000, 32_768, 40_000, 300_000])
@pytest.mark.parametrize("trailers", [(), TRAILERS])
@pytest.mark.parametrize("position", ["downstream", "both"])
def test_no_delay_is_cut_short(
    position: str, trailers: tuple[tuple[str, str], ...], size: int, limit: int | None, envoys: "Envoys"
) -> None:
    """Neither by the size, nor by trailers, nor by the limits of Envoy's buffers, of which 0 is none."""
    envoy, upstream = envoys.get(position, limit)
    upstream["/"] = Behaviour(size=size, trailers=trailers)
    for http2 in (False, True):
        answer = exchange(envoy.address(), http2=http2)
        assert (answer.status, len(answer.body), answer.complete) == (200, size, True)
        assert answer.trailers == list(trailers)
        found = faults(answer)
        took = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
        assert took == pytest.approx(0.15, abs=1e-6)
    assert not any(envoy.stats("brownout[.]skipped_").values())


@pytest.mark.parametrize("limit", [0, LIMIT])
@pytest.mark.parametrize("size", [0, 1000, 40_000])
def test_the_filter_of_the_cluster_alone_lets_trailers_go(size: int, limit: int, envoys: "Envoys") -> None:
    """When they come; the header says how much was added, and a counter how often that was."""
    envoy, upstream = envoys.get("upstream", limit)
    upstream["/"] = Behaviour(size=size, trailers=TRAILERS, pause=0.03)
    before = envoy.stat("cluster.upstream.brownout.skipped_trailers")
    answer = exchange(envoy.address(), http2=True)
    assert (answer.status, len(answer.body), answer.complete) == (200, size, True)
    assert answer.trailers == list(TRAILERS)
    assert 0.02 < seconds(faults(answer)["x-fault-added-delay"]) < 0.12
    assert envoy.stat("cluster.upstream.brownout.skipped_trailers") == before + 1
    upstream["/"] = Behaviour(size=size)
    found = faults(exchange(envoy.address(), http2=True))
    took = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
    assert took == pytest.approx(0.15, abs=1e-6)
    assert envoy.stat("cluster.upstream.brownout.skipped_trailers") == before + 1
    assert envoy.log.count("brownout: ") == 1


class Envoys:
    """One for each place and limit, with an upstream of HTTP/2 and a delay of 150 ms, as they are needed."""

    def __init__(self, version: str, stack: ExitStack) -> None:
        self._version, self._stack = version, stack
        self._upstream = stack.enter_context(Upstream())
        self._running: dict[tuple[str, int | None], EnvoyProcess] = {}

    def get(self, position: str, limit: int | None) -> tuple[EnvoyProcess, Upstream]:
        """The Envoy, and its upstream; `limit` None is Envoy's default."""
        if (position, limit) not in self._running:
            rule = always(200, "150ms")
            config = static_bootstrap(
                self._upstream.port, routes=[route("/", rule)], position=position, http2=True
            )
            for kind in ("listeners", "clusters") if limit is not None else ():
                config["static_resources"][kind][0]["per_connection_buffer_limit_bytes"] = limit
            process = EnvoyProcess(config, version=self._version)
            self._running[position, limit] = self._stack.enter_context(process)
        return self._running[position, limit], self._upstream


@pytest.fixture(scope="module")
def envoys(version: str) -> Iterator[Envoys]:
    with ExitStack() as stack:
        yield Envoys(version, stack)
