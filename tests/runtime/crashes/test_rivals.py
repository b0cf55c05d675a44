"""Hedging: a held response that the router would give up while another attempt is under way."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http2Client,
    RawResponse,
    Upstream,
    exchange,
    route,
    static_bootstrap,
)
from tests.support.load import get_many

from .survivors import EMPTY_MESSAGE, FAULT_TEXT, FILLER, GRPC, HOLD, TRAILERS, Envoys, Outcome

RETRIABLE = (("x-again", "1"),)
POLICIES: dict[str, dict[str, Any]] = {
    "status": {"retry_on": "retriable-status-codes", "retriable_status_codes": [200, 204, 404]},
    "header": {
        "retry_on": "retriable-headers",
        "retriable_headers": [{"name": "x-again", "present_match": True}],
    },
    "gateway": {"retry_on": "5xx,reset,connect-failure,retriable-4xx"},
}
RANDOM = {"status": 200, "resolution": 10, "distribution": {"p0": "0s", "p100": "90ms"}}
SHAPES = {
    "body": (Behaviour(headers=RETRIABLE), always(200, HOLD), Outcome()),
    "large": (
        Behaviour(headers=RETRIABLE, size=320_000),
        always(200, HOLD),
        Outcome(body=FILLER * 20_000),
    ),
    "endless": (
        Behaviour(headers=RETRIABLE, size=3_200_000),
        always(200, HOLD),
        Outcome(body=FILLER * 200_000),
    ),
    "endless-trailers": (
        Behaviour(headers=RETRIABLE, size=3_200_000, trailers=TRAILERS),
        always(200, HOLD),
        Outcome(body=FILLER * 200_000, trailers=TRAILERS),
    ),
    "headers": (Behaviour(headers=RETRIABLE, status=204), always(204, HOLD), Outcome(204, b"")),
    "error": (Behaviour(headers=RETRIABLE, status=404), always(404, HOLD), Outcome(404)),
    "trailers": (
        Behaviour(headers=RETRIABLE, trailers=TRAILERS),
        always(200, HOLD),
        Outcome(trailers=TRAILERS),
    ),
    "forced": (Behaviour(headers=RETRIABLE), always(503, HOLD), Outcome(503, FAULT_TEXT)),
    "rewritten": (
        Behaviour(headers=RETRIABLE),
        always(503, HOLD, override="upstream_response"),
        Outcome(503, FAULT_TEXT),
    ),
    "success": (
        Behaviour(headers=RETRIABLE, status=500),
        always(200, HOLD, override="upstream_response"),
        Outcome(200, b""),
    ),
}


def hedged(prefix: str, rule: dict[str, Any], policy: str) -> dict[str, Any]:
    """A route that makes another attempt long before the first is due."""
    retry = POLICIES[policy] | {
        "num_retries": 2,
        "per_try_timeout": "0.025s",
        "retry_back_off": {"base_interval": "0.001s", "max_interval": "0.001s"},
    }
    hedge = {"hedge_on_per_try_timeout": True}
    return route(prefix, rule, retry_policy=retry, hedge_policy=hedge)


ROUTES = [
    *(
        hedged(f"/{policy}/{name}", rule, policy)
        for policy in POLICIES
        for name, (_, rule, _) in SHAPES.items()
    ),
    *(hedged(f"/{policy}/random", {"responses": [RANDOM]}, policy) for policy in POLICIES),
    *(hedged(f"/{policy}/grpc", always(200, HOLD), policy) for policy in POLICIES),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {f"/{policy}/{name}": shape[0] for policy in POLICIES for name, shape in SHAPES.items()}
    paths |= {f"/{policy}/grpc": Behaviour.grpc(b"hello") for policy in POLICIES}
    with Upstream(paths, default=Behaviour(headers=RETRIABLE)) as server:
        yield server


def nothing_under_way(envoy: EnvoyProcess) -> None:
    envoy.wait_none("cluster.upstream.upstream_rq_active", "http.http.downstream_rq_active")


def is_an_attempts(answer: RawResponse, outcome: Outcome, position: str) -> None:
    """One attempt's response, whole; alone in the cluster, the filter may have to give up all of them."""
    if position == "upstream" and (answer.status, answer.complete) == (503, True):
        return
    replace(outcome, delay=None).check(answer)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "name",
    [
        # What still comes when it is due, and would be retried: a known limit (docs/explanation/runtime.md).
        pytest.param(name, marks=pytest.mark.slow) if name.startswith("endless") else name
        for name in SHAPES
    ],
)
def test_attempts_at_one_request(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, *, policy: str, name: str
) -> None:
    """Whatever the router makes of a response, the client gets one of the attempts' whole."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position, http2=to_http2)
    outcome = SHAPES[name][2]
    with envoys.on(config) as envoy:
        for http2 in (False, True):
            answer = exchange(envoy.address(), path=f"/{policy}/{name}", http2=http2)
            is_an_attempts(answer, outcome, position)
        nothing_under_way(envoy)


@pytest.mark.parametrize("policy", POLICIES)
def test_calls_with_rivals(envoys: Envoys, upstream: Upstream, position: str, policy: str) -> None:
    """A call of gRPC, whose trailers no reply of Envoy's own could carry."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position, http2=True)
    with envoys.on(config) as envoy, Http2Client(envoy.address()) as client:
        numbers = [
            client.request("POST", f"/{policy}/grpc", headers=GRPC, body=EMPTY_MESSAGE) for _ in range(10)
        ]
        for number in numbers:
            answer = client.answer(number)
            assert (answer.status, dict(answer.trailers)) == (200, {"grpc-status": "0"})
            assert answer.body == b"\0\0\0\0\5hello"
        nothing_under_way(envoy)


@pytest.mark.parametrize("policy", POLICIES)
def test_any_mixture_of_delays(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, policy: str
) -> None:
    """Attempts of many requests become due in any order."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position, http2=to_http2)
    with envoys.on(config) as envoy:
        answers = asyncio.run(get_many(envoy.address(), f"/{policy}/random", 150, at_once=50))
        assert {answer.status for answer in answers} == {200}
        nothing_under_way(envoy)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["endless", "endless-trailers"])
def test_bodies_of_attempts_do_not_mix(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, name: str
) -> None:
    """Attempts whose bodies are still under way when they are due: the client gets one of them, whole."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position, http2=to_http2)
    with envoys.on(config) as envoy, ThreadPoolExecutor(8) as pool:
        address = envoy.address()
        asked = [
            pool.submit(exchange, address, path=f"/status/{name}", http2=number % 2 == 0)
            for number in range(24)
        ]
        for answer in asked:
            is_an_attempts(answer.result(), SHAPES[name][2], position)
        nothing_under_way(envoy)
