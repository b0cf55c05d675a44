"""Envoy's hedging: a second attempt starts when the first takes too long, and the better answer wins."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http2Client,
    Upstream,
    exchange,
    route,
    static_bootstrap,
    wait_until,
)
from tests.support.load import get_many

from .profiles import always, faults, profile, response, seconds

PREFIX = "cluster.upstream"
FAULT_TEXT = b"fault filter abort: 503\n"
REFUSED = Behaviour(status=503)
TRAILING = Behaviour(trailers=(("x-end", "1"),))


def hedged(config: dict[str, Any], *, after: str = "0.1s", retries: int = 1) -> dict[str, Any]:
    """A route that makes another attempt when one has taken `after`."""
    return route(
        "/",
        config,
        retry_policy={
            "retry_on": "5xx",
            "num_retries": retries,
            "per_try_timeout": after,
            "retry_back_off": {"base_interval": "0.02s", "max_interval": "0.02s"},
        },
        hedge_policy={"hedge_on_per_try_timeout": True},
    )


def nothing_is_left(envoy: EnvoyProcess) -> None:
    envoy.wait_none(
        *(f"{PREFIX}.{name}" for name in ("brownout.in_flight", "brownout.held", "upstream_rq_active"))
    )


def test_the_first_response_whose_time_has_come_wins() -> None:
    """The delay counts for hedging: a second attempt starts while the first is held, and is given up."""
    routes = [hedged(profile(response(200, "250ms")))]
    with Upstream() as upstream, EnvoyProcess(static_bootstrap(upstream.port, routes=routes)) as envoy:
        answer = exchange(envoy.address())
        assert (answer.status, bytes(answer.body)) == (200, b"ok\n")
        assert seconds(faults(answer)["x-fault-actual-upstream"]) < 0.25
        assert upstream.counts["/"] == 2
        assert envoy.stat(f"{PREFIX}.upstream_rq_retry") == 1
        assert envoy.stat(f"{PREFIX}.brownout.delayed_2xx") == 1
        nothing_is_left(envoy)


@pytest.mark.parametrize(
    ("config", "behaviour", "body"),
    [
        (always(503, "250ms", override="upstream_response"), Behaviour(), FAULT_TEXT),
        (always(503, "250ms", override="upstream_response"), Behaviour(body=b""), FAULT_TEXT),
        (always(503, "250ms", override="upstream_response"), TRAILING, FAULT_TEXT),
        (always(503, override="upstream_response"), Behaviour(delay=0.25), FAULT_TEXT),
        (always(503, override="upstream_response"), Behaviour(delay=0.25, body=b""), FAULT_TEXT),
        (always(503, "250ms"), REFUSED, b"ok\n"),
        (always(503, "250ms"), Behaviour(status=503, body=b""), b""),
        (always(503), Behaviour(status=503, delay=0.25), b"ok\n"),
    ],
)
def test_an_error_is_given_up_for_the_other_attempt(
    config: dict[str, Any], behaviour: Behaviour, body: bytes, version: str
) -> None:
    """The first attempt's error is not the answer while the second is under way; the second's is, whole."""
    with (
        Upstream(default=behaviour) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[hedged(config)]), version=version) as envoy,
    ):
        answer = exchange(envoy.address())
        assert (answer.status, bytes(answer.body)) == (503, body)
        assert upstream.counts["/"] == 2
        assert envoy.stat(f"{PREFIX}.upstream_rq_retry_limit_exceeded") == 2
        nothing_is_left(envoy)


@pytest.mark.parametrize("body", [b"ok\n", b""])
@pytest.mark.parametrize("http2", [False, True])
def test_any_mixture_of_attempts_leaves_nothing_behind(body: bytes, http2: bool, version: str) -> None:
    """Successes and errors of any delay, several attempts at once: a request gets one of the two answers."""
    config = profile(
        {"status": 503, "resolution": 6, "distribution": {"p0": "0s", "p100": "150ms"}},
        {"status": 200, "resolution": 4, "distribution": {"p0": "0s", "p100": "150ms"}},
        override="upstream_response",
    )
    routes = [hedged(config, after="0.05s", retries=2)]
    with (
        Upstream(default=Behaviour(body=body)) as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=routes, http2=http2), version=version, concurrency=2
        ) as envoy,
    ):
        answers = asyncio.run(get_many(envoy.address(), "/", 400, at_once=100))
        statuses = Counter(answer.status for answer in answers)
        assert set(statuses) == {200, 503}
        assert statuses[200] > statuses[503]  # 0.6 ** 3 of the requests fail
        assert envoy.stat(f"{PREFIX}.upstream_rq_total") > 600
        nothing_is_left(envoy)


def test_a_response_waits_for_its_client_and_then_has_a_rival(version: str) -> None:
    """The client does not read when it falls due, and when it does another attempt is under way: one wins."""
    paths = {"/big": Behaviour(size=8_000_000), "/": TRAILING}
    routes = [route("/big"), hedged(always(200, "600ms"), after="1s")]
    with (
        Upstream(paths) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes), version=version) as envoy,
        Http2Client(envoy.address(), receive_buffer=4096) as http,
    ):
        big = http.request(path="/big")
        envoy.wait_stat(f"{PREFIX}.upstream_flow_control_paused_reading_total")
        small = http.request()
        wait_until(lambda: upstream.counts["/"] == 2)
        envoy.wait_stat(f"{PREFIX}.brownout.held", 2)
        assert len(http.answer(big).body) == 8_000_000
        answer = http.answer(small)
        assert (answer.status, answer.trailers, answer.complete) == (200, [("x-end", "1")], True)
        nothing_is_left(envoy)
