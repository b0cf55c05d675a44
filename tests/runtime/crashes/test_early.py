"""Answers to requests that still run: their streams are half open, and some upstreams reset them.

RFC 9113, 8.1: a server that needs no more of a request may reset its stream with NO_ERROR after the answer.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http1Client,
    Http2Client,
    RawResponse,
    Upstream,
    filler_headers,
    request_bytes,
    route,
    static_bootstrap,
)

from .survivors import (
    FAULT_TEXT,
    FILLER,
    HOLD,
    TRAILERS,
    Envoys,
    Outcome,
    cluster_counter,
    promised,
)

LARGE = 2_000_000
USUAL = {
    "body": Behaviour(status=401, body=b"no\n"),
    "headers": Behaviour(status=401, body=b""),
    "slow": Behaviour(status=401, body=b"no\n", pause=0.02),
    "trailers": Behaviour(status=401, body=b"no\n", trailers=TRAILERS),
    "large": Behaviour(status=401, size=LARGE),
    "large-trailers": Behaviour(status=401, size=LARGE, trailers=TRAILERS),
    "leaves": Behaviour(status=401, body=b"no\n", leaves=True),
    "abandons": Behaviour(status=401, body=b"no\n", abandons=True),
    "abandons-headers": Behaviour(status=401, body=b"", abandons=True),
    # Not more than Envoy reads at once: it cuts what is paused when its stream or connection ends.
    "abandons-large": Behaviour(status=401, size=12_000, abandons=True),
    "abandons-trailers": Behaviour(status=401, body=b"no\n", trailers=TRAILERS, abandons=True),
}
SMALL = {  # at a listener that buffers 16 KiB
    "small-large": USUAL["large"],
    "small-trailers": Behaviour(status=401, size=18_000, trailers=TRAILERS),
    "small-headers": Behaviour(status=401, body=b"no\n", headers=filler_headers(30_000)),
    "small-abandons": Behaviour(status=401, size=12_000, abandons=True),
}
SHAPES = USUAL | SMALL
RULES: dict[str, dict[str, Any]] = {
    "pass": always(401, HOLD),
    "local": always(503, HOLD),
    "upstream": always(503, HOLD, override="upstream_response"),
    "now": always(401),
}
ENDS = ("never", "while-held", "at-once")
SENT = b"x" * 1000


@dataclass(frozen=True)
class Upload:
    """A request whose body ends when a test wants it to."""

    path: str
    ends: str
    http2: bool

    def perform(self, address: tuple[str, int], answered: Callable[[], None]) -> RawResponse:
        """Send it and get the answer; `answered` waits until the upstream has answered."""
        return (self._http2 if self.http2 else self._http1)(address, answered)

    def _http1(self, address: tuple[str, int], answered: Callable[[], None]) -> RawResponse:
        with Http1Client(address) as client:
            length = [("content-length", str(2 * len(SENT)))]
            client.send(request_bytes("POST", self.path, headers=length, body=SENT))
            if self.ends == "while-held":
                answered()
            if self.ends != "never":
                client.send(SENT)
            return client.answer()

    def _http2(self, address: tuple[str, int], answered: Callable[[], None]) -> RawResponse:
        with Http2Client(address) as client:
            number = client.request("POST", self.path, body=SENT, end=False)
            if self.ends == "while-held":
                answered()
            if self.ends != "never":
                client.send(number, SENT, end=True)
            return client.answer(number)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        f"/{rule}/{shape}": behaviour.with_changes(early=True)
        for rule, (shape, behaviour) in product(RULES, SHAPES.items())
    }
    with Upstream(paths) as server:
        yield server


def bootstrap(upstream: Upstream, position: str, shape: str, *, http2: bool) -> dict[str, Any]:
    """With the listener that belongs to a shape."""
    routes = [route(f"/{name}/", config) for name, config in RULES.items()]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=http2)
    if shape in SMALL:
        config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = 16_384
    return config


def nothing_under_way(envoy: EnvoyProcess) -> None:
    envoy.wait_none("cluster.upstream.upstream_rq_active", "http.http.downstream_rq_active")


def expected(shape: str, rule: str, position: str) -> Outcome:
    """What the client has to get."""
    behaviour = SHAPES[shape]
    delay = promised(position, alone=False) if rule != "now" else None
    if rule in {"local", "upstream"}:
        return Outcome(503, FAULT_TEXT, (), delay)
    body = (FILLER * (behaviour.size // 16)) if behaviour.size else behaviour.body
    return Outcome(401, body, behaviour.trailers, delay)


# Envoy 1.38 may stop there, if the connection manager's filter holds it and an HTTP/1 client sends on.
BEYOND_BUFFERS = {"large", "large-trailers", "small-large", "small-trailers"}


@pytest.mark.parametrize(
    "shape",
    [pytest.param(name, marks=pytest.mark.slow) if name in BEYOND_BUFFERS else name for name in SHAPES],
)
def test_an_early_answer(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, shape: str
) -> None:
    """It is the answer, with its delay where the place can give it, whenever the request ends."""
    uploads = [
        (rule, Upload(f"/{rule}/{shape}", ends, http2))
        for rule, ends, http2 in product(RULES, ENDS, (False, True))
    ]
    due = {rule: upstream.counts[f"/{rule}/{shape}"] + len(uploads) // len(RULES) for rule in RULES}

    def all_answered(rule: str) -> None:
        upstream.wait_for(lambda server: server.counts[f"/{rule}/{shape}"] >= due[rule])

    config = bootstrap(upstream, position, shape, http2=to_http2)
    with envoys.on(config) as envoy, ThreadPoolExecutor(len(uploads)) as pool:
        address = envoy.address()
        asked = [
            pool.submit(upload.perform, address, partial(all_answered, rule)) for rule, upload in uploads
        ]
        for (rule, upload), answer in zip(uploads, asked, strict=True):
            try:
                expected(shape, rule, position).check(answer.result())
            except (AssertionError, OSError) as error:
                error.add_note(str(upload))
                raise
        if position == "upstream" and shape in {"body", "headers", "abandons"}:  # the quickest
            assert cluster_counter(envoy, "skipped_early") > 0
        nothing_under_way(envoy)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_client_that_leaves_its_upload(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, shape: str
) -> None:
    """It resets its stream, or its connection, at any moment of the answer."""
    with envoys.on(bootstrap(upstream, position, shape, http2=to_http2)) as envoy:
        for rule in RULES:
            path = f"/{rule}/{shape}"
            for _ in range(5):
                client = Http1Client(envoy.address())
                client.send(request_bytes("POST", path, headers=[("content-length", "2000")], body=SENT))
                client.abort()
            with Http2Client(envoy.address()) as streams:
                for _ in range(5):
                    streams.reset(streams.request("POST", path, body=SENT, end=False))
                number = streams.request("POST", path, body=SENT, end=False)
                assert streams.answer(number).status in {401, 503}
        nothing_under_way(envoy)
