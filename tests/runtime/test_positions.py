"""The filter in downstream position: what differs from the default, a cluster's upstream filters."""

import socket
import time
from collections.abc import Iterator

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, faults, own

PREFIX = "brownout"
EIGHT_MB = 8 * 1024 * 1024
ROUTES = [
    route("/abort", always(503, "20ms")),
    route("/timeout", always(200, "300ms"), timeout="0.1s"),
    {
        "match": {"prefix": "/direct"},
        "direct_response": {"status": 404},
        "typed_per_filter_config": route("/", always(404, "100ms"))["typed_per_filter_config"],
    },
    route("/retried", always(200, "100ms"), retry_policy={"retry_on": "5xx", "num_retries": 2}),
    route("/override", always(503, "20ms", override="upstream_response")),
    route("/leave", always(200, "30s")),
    route("/", always(200, "100ms")),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream({"/big": Behaviour(size=EIGHT_MB), "/retried": Behaviour(status=500)}) as server:
        yield server


@pytest.fixture(scope="module")
def envoy(upstream: Upstream, version: str) -> Iterator[EnvoyProcess]:
    with EnvoyProcess(
        static_bootstrap(upstream.port, routes=ROUTES, position="downstream"), version=version
    ) as process:
        yield process


def test_delay_body_and_abort(envoy: EnvoyProcess) -> None:
    """Delays, large bodies and aborts work here too; statistics belong to no cluster."""
    started = time.monotonic()
    answer = exchange(envoy.address(), path="/big")
    assert time.monotonic() - started >= 0.1
    assert (answer.status, len(answer.body), answer.complete) == (200, EIGHT_MB, True)
    assert faults(answer)["x-fault-injected-delay"] == "100ms"
    aborted = exchange(envoy.address(), path="/abort")
    assert (aborted.status, bytes(aborted.body)) == (503, b"fault filter abort: 503\n")
    assert envoy.stat(f"{PREFIX}.injected_5xx") >= 1
    wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)


def test_timeouts_do_not_include_the_delay(envoy: EnvoyProcess) -> None:
    """The router has its response before the hold begins."""
    assert exchange(envoy.address(), path="/timeout").status == 200


def test_envoys_own_answers_are_delayed(envoy: EnvoyProcess) -> None:
    """A response that Envoy itself makes passes the filter as well."""
    started = time.monotonic()
    answer = exchange(envoy.address(), path="/direct")
    assert answer.status == 404
    assert time.monotonic() - started >= 0.1
    assert faults(answer)["x-fault-upstream-status"] == "404"


def test_retries_are_one_request(envoy: EnvoyProcess, upstream: Upstream) -> None:
    """All attempts together are one draw, and their time is the upstream's."""
    before = upstream.counts["/retried"]
    answer = exchange(envoy.address(), path="/retried")
    assert answer.status == 200
    assert upstream.counts["/retried"] == before + 3
    assert faults(answer)["x-fault-upstream-status"] == "500"


def test_overriding_needs_no_router(envoy: EnvoyProcess) -> None:
    """`override: upstream_response` gives the client the same response, which the router does not see."""
    answer = exchange(envoy.address(), path="/override")
    assert (answer.status, bytes(answer.body), answer.complete) == (503, b"fault filter abort: 503\n", True)
    assert own(answer) == {"content-type": "text/plain", "content-length": "24"}
    assert envoy.stat("cluster.upstream.upstream_rq_503") == 0


def test_a_client_that_leaves(envoy: EnvoyProcess) -> None:
    """A hold whose client has gone leaves nothing behind."""
    for _ in range(10):
        with socket.create_connection(envoy.address()) as client:
            client.sendall(b"GET /leave HTTP/1.1\r\nhost: a\r\n\r\n")
            envoy.wait_stat(f"{PREFIX}.held")
    wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
    assert envoy.stat(f"{PREFIX}.held") == 0
