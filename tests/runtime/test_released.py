"""A fault that expires, or is halted, while it holds the response that it would have rewritten."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support import Behaviour, EnvoyProcess, RawResponse, Upstream, exchange, route, static_bootstrap

from .profiles import always, faults

TRAILERS = (("x-end", "1"),)
FAULT_TEXT = b"fault filter abort: 503\n"
SHAPES = {
    "length": Behaviour(),
    "chunks": Behaviour(chunked=True),
    "trailers": Behaviour(trailers=TRAILERS),
    "headers": Behaviour(body=b""),
    "large": Behaviour(size=500_000),
    "large with trailers": Behaviour(size=20_000, trailers=TRAILERS),
}


def expiring(
    behaviour: Behaviour, version: str, *, http2: bool = False, limit: int | None = None
) -> RawResponse:
    """The answer of a route whose fault expires soon, long before its delay has passed."""
    deadline = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()
    rule = always(503, "60s", override="upstream_response", expires_at=deadline)
    with Upstream(default=behaviour) as upstream:
        config = static_bootstrap(upstream.port, routes=[route("/", rule)])
        if limit is not None:
            config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = limit
        with EnvoyProcess(config, version=version) as envoy:
            answer = exchange(envoy.address(), http2=http2)
            envoy.wait_none("cluster.upstream.brownout.in_flight", "cluster.upstream.upstream_rq_active")
    return answer


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_upstreams_own_response_passes_whole(shape: str, http2: bool, version: str) -> None:
    behaviour = SHAPES[shape]
    answer = expiring(behaviour, version, http2=http2)
    size = len(behaviour.body) if behaviour.size is None else behaviour.size
    assert (answer.status, len(answer.body), answer.complete) == (200, size, True)
    assert not faults(answer)
    if http2:
        assert dict(answer.trailers) == dict(behaviour.trailers)


def test_what_was_too_large_to_keep_is_rewritten_then(version: str) -> None:
    """Beyond Envoy's buffers the body is gone, so the drawn response comes at that moment."""
    answer = expiring(Behaviour(size=200_000), version, limit=32_768)
    assert (answer.status, bytes(answer.body), answer.complete) == (503, FAULT_TEXT, True)
