"""`override: upstream_response`: Envoy takes an injected failure for the upstream's own."""

from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, profile, response

OVERRIDE = "upstream_response"
GRPC = [("content-type", "application/grpc"), ("te", "trailers")]
TEXT = b"fault filter abort: 503\n"


def overriding(status: int, latency: str) -> dict[str, Any]:
    """The direct shape of one status that overrides."""
    return always(status, latency, override=OVERRIDE)


def test_retries_see_the_failure(version: str) -> None:
    """With `retry_on: 5xx` an injected 503 is retried, and the cluster counts each attempt."""
    retry = {"retry_on": "5xx", "num_retries": 2, "retry_back_off": {"base_interval": "0.001s"}}
    routes = [route("/", overriding(503, "10ms"), retry_policy=retry)]
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes), version=version) as envoy,
    ):
        answer = exchange(envoy.address())
        assert (answer.status, bytes(answer.body)) == (503, TEXT)
        assert upstream.counts["/"] == 3
        assert envoy.stat("cluster.upstream.upstream_rq_retry") == 2
        assert envoy.stat("cluster.upstream.upstream_rq_retry_limit_exceeded") == 1
        assert envoy.stat("cluster.upstream.retry.upstream_rq_503") == 2
        assert envoy.stat("cluster.upstream.upstream_rq_503") == 1
        assert envoy.stat("cluster.upstream.brownout.injected_5xx") == 3
        wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)


def test_a_retry_may_succeed() -> None:
    """Half of the draws fail: retries turn nearly all of them into the upstream's own response."""
    half = profile(response(503, "1ms", weight=1), response(200, "1ms", weight=1), override=OVERRIDE)
    retry = {"retry_on": "5xx", "num_retries": 20, "retry_back_off": {"base_interval": "0.001s"}}
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", half, retry_policy=retry)])) as envoy,
    ):
        answers = [exchange(envoy.address()) for _ in range(30)]
        assert {(answer.status, bytes(answer.body)) for answer in answers} == {(200, b"ok\n")}
        assert envoy.stat("cluster.upstream.upstream_rq_retry_success") > 0
        assert envoy.stat("cluster.upstream.retry.upstream_rq_503") == upstream.counts["/"] - 30
        assert envoy.stat("cluster.upstream.upstream_rq_200") == 30


def test_a_local_response_is_not_retried() -> None:
    """The default is a local reply: the router takes it for the answer, and the cluster does not count it."""
    retry = {"retry_on": "5xx", "num_retries": 2}
    with (
        Upstream() as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=[route("/", always(503), retry_policy=retry)])
        ) as envoy,
    ):
        assert exchange(envoy.address()).status == 503
        assert upstream.counts["/"] == 1
        assert envoy.stat("cluster.upstream.upstream_rq_retry") == 0
        assert envoy.stat("cluster.upstream.upstream_rq_503") == 0


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("latency", ["0s", "20ms"])
@pytest.mark.parametrize("shape", ["trailers", "headers only"])
def test_grpc_retries_see_the_code(shape: str, latency: str, http2: bool, version: str) -> None:
    """`retry_on: unavailable` retries an injected gRPC 14, which the client finds where gRPC has it."""
    retry = {"retry_on": "unavailable", "num_retries": 2, "retry_back_off": {"base_interval": "0.001s"}}
    refusal = (("content-type", "application/grpc"), ("grpc-status", "5"))
    behaviour = Behaviour.grpc(b"hello") if shape == "trailers" else Behaviour(headers=refusal, body=b"")
    routes = [route("/", overriding(503, latency), retry_policy=retry)]
    with (
        Upstream(default=behaviour) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes, http2=http2), version=version) as envoy,
    ):
        answer = exchange(envoy.address(), "POST", "/", headers=GRPC, body=b"\0\0\0\0\0", http2=True)
        assert envoy.stat("cluster.upstream.upstream_rq_retry") == 2
        assert envoy.stat("cluster.upstream.upstream_rq_retry_limit_exceeded") == 1
        assert envoy.stat("cluster.upstream.brownout.injected_5xx") == upstream.counts["/"] == 3
        told = [pair for pair in (*answer.headers, *answer.trailers) if pair[0].startswith("grpc-")]
        assert sorted(told) == [("grpc-message", "fault filter abort: 503"), ("grpc-status", "14")]
        assert set(told) <= set(answer.trailers if shape == "trailers" else answer.headers)


@pytest.mark.parametrize(("latency", "retries"), [("0s", 2), ("1s", 0)])
@pytest.mark.parametrize("grpc", [False, True])
def test_the_filter_of_the_cluster_alone_is_retried_only_at_once(
    grpc: bool, latency: str, retries: int, version: str
) -> None:
    """There an error that was delayed is Envoy's own reply, which the router does not see."""
    retry = {
        "retry_on": "5xx,unavailable",
        "num_retries": 2,
        "retry_back_off": {"base_interval": "0.001s"},
    }
    routes = [route("/", overriding(503, latency), retry_policy=retry)]
    sent: dict[str, Any] = {"headers": GRPC, "body": b"\0\0\0\0\0"} if grpc else {}
    with Upstream(default=Behaviour.grpc(b"hello") if grpc else Behaviour()) as upstream:
        config = static_bootstrap(upstream.port, routes=routes, position="upstream", http2=grpc)
        with EnvoyProcess(config, version=version) as envoy:
            answer = exchange(envoy.address(), "POST", http2=grpc, **sent)
            told = dict([*answer.headers, *answer.trailers])
            assert (answer.status, told.get("grpc-status")) == ((200, "14") if grpc else (503, None))
            assert answer.complete
            assert upstream.counts["/"] == retries + 1
            assert envoy.stat("cluster.upstream.upstream_rq_retry") == retries


def test_outlier_detection_sees_the_failure() -> None:
    """Consecutive injected 503s eject the host."""
    with Upstream() as upstream:
        config = static_bootstrap(upstream.port, routes=[route("/", overriding(503, "1ms"))])
        config["static_resources"]["clusters"][0]["outlier_detection"] = {
            "consecutive_5xx": 3,
            "enforcing_consecutive_5xx": 100,
            "max_ejection_percent": 100,
        }
        config["static_resources"]["clusters"][0]["common_lb_config"] = {
            "healthy_panic_threshold": {"value": 0}
        }
        with EnvoyProcess(config) as envoy:
            for _ in range(3):
                exchange(envoy.address())
            envoy.wait_stat("cluster.upstream.outlier_detection.ejections_enforced_consecutive_5xx")
            assert exchange(envoy.address()).status == 503
            assert upstream.counts["/"] == 3


def test_the_per_try_timeout_sees_the_delay(version: str) -> None:
    """The injected delay counts towards the per-try timeout: every try runs into it."""
    retry = {"retry_on": "5xx", "num_retries": 1, "per_try_timeout": "0.1s"}
    routes = [route("/", overriding(503, "10s"), retry_policy=retry, timeout="5s")]
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes), version=version) as envoy,
    ):
        answer = exchange(envoy.address())
        assert answer.status == 504
        assert envoy.stat("cluster.upstream.upstream_rq_per_try_timeout") == 2
        wait_until(lambda: envoy.stat("cluster.upstream.brownout.in_flight") == 0)
        assert envoy.stat("cluster.upstream.brownout.held") == 0
