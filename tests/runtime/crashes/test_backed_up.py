"""A delayed response beside a download that the client does not read, on one HTTP/2 connection.

The client's connection is over its high watermark when the delay ends: the response's headers then reach a
router that would pause an upstream's stream which is long gone.
"""

import copy
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http2Client,
    Upstream,
    filler_headers,
    route,
    static_bootstrap,
)
from tests.support.bootstrap import TYPE
from tests.support.certificates import Authority

from .survivors import (
    EMPTY_MESSAGE,
    FAULT_TEXT,
    FILLER,
    GRPC,
    HOLD,
    PACE,
    TRAILERS,
    Envoys,
    Outcome,
    promised,
    wait_due,
)

LONG = "300ms"
BIG = 8 * 1024 * 1024
WIDE = 256 * 1024 * 1024
MIB = 1024 * 1024
REWRITTEN = always(503, HOLD, override="upstream_response")


@dataclass(frozen=True)
class Case:
    """A response beside the download; `alone`: whether the cluster's filter alone promises its delay."""

    behaviour: Behaviour
    rule: dict[str, Any]
    outcome: Outcome
    alone: bool = True
    grpc: bool = False


TRAILING = Behaviour(trailers=TRAILERS)
CASES = {
    "body": Case(Behaviour(body=b"hello"), always(200, HOLD), Outcome(body=b"hello")),
    "large": Case(Behaviour(size=320_000), always(200, HOLD), Outcome(body=FILLER * 20_000)),
    "headers": Case(Behaviour(status=204), always(204, HOLD), Outcome(204, b"")),
    "many-headers": Case(Behaviour(headers=filler_headers(30_000)), always(200, HOLD), Outcome()),
    "error": Case(Behaviour(status=404), always(404, HOLD), Outcome(404)),
    "trailers": Case(
        Behaviour(trailers=TRAILERS), always(200, HOLD), Outcome(trailers=TRAILERS), alone=False
    ),
    "grpc": Case(
        Behaviour.grpc(b"hello"),
        always(200, HOLD),
        Outcome(body=b"\0\0\0\0\5hello", trailers=(("grpc-status", "0"),)),
        alone=False,
        grpc=True,
    ),
    "forced": Case(Behaviour(), always(503, HOLD), Outcome(503, FAULT_TEXT)),
    "rewritten": Case(Behaviour(), REWRITTEN, Outcome(503, FAULT_TEXT)),
    "rewritten-trailers": Case(
        Behaviour(trailers=TRAILERS), REWRITTEN, Outcome(503, FAULT_TEXT), alone=False
    ),
}
ROUTES = [PACE, route("/big"), *(route(f"/{name}", case.rule) for name, case in CASES.items())]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {f"/{name}": case.behaviour for name, case in CASES.items()}
    with Upstream(paths | {"/big": Behaviour(size=BIG), "/huge": Behaviour(size=12 * BIG)}) as server:
        yield server


def beside_a_download(
    envoy: EnvoyProcess,
    client: Http2Client,
    upstream: Upstream,
    position: str,
    name: str,
    *,
    path: str = "/big",
    size: int = BIG,
) -> None:
    """The download is stuck, a response is held, its time comes, the client does not read; then it does."""
    case = CASES[name]
    asked = upstream.counts[f"/{name}"]
    big = client.request(path=path)
    envoy.wait_stat("cluster.upstream.upstream_flow_control_paused_reading_total")
    sent = {"headers": GRPC, "body": EMPTY_MESSAGE} if case.grpc else {}
    small = client.request("POST" if case.grpc else "GET", f"/{name}", **sent)  # type: ignore[arg-type]
    upstream.wait_for(lambda server: server.counts[f"/{name}"] > asked)
    wait_due(envoy)
    answer = client.answer(small)
    assert len(client.answer(big).body) == size
    replace(case.outcome, delay=promised(position, alone=case.alone)).check(answer)


@pytest.mark.parametrize("name", CASES)
def test_a_response_beside_an_unread_download(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, name: str
) -> None:
    """Each kind of response comes as it should, and Envoy lives."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position, http2=to_http2)
    with (
        envoys.on(config) as envoy,
        Http2Client(
            envoy.address(), connection_window=WIDE, stream_window=WIDE, receive_buffer=4096
        ) as client,
    ):
        envoy.admin("/reset_counters", method="POST")
        beside_a_download(envoy, client, upstream, position, name)


@pytest.mark.parametrize("name", ["body", "error", "trailers", "forced", "rewritten"])
def test_a_download_that_backs_up_during_the_hold(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, name: str
) -> None:
    """The connection is pausing only when the response has been complete for a while."""
    case = CASES[name]
    (entry,) = case.rule["responses"]
    long = case.rule | {"responses": [entry | {"distribution": {"p0": LONG, "p100": LONG}}]}
    routes = [route("/big"), route(f"/{name}", long)]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=to_http2)
    with (
        envoys.on(config) as envoy,
        Http2Client(
            envoy.address(), connection_window=WIDE, stream_window=WIDE, receive_buffer=4096
        ) as client,
    ):
        asked = upstream.counts[f"/{name}"]
        held = client.request(path=f"/{name}")
        upstream.wait_for(lambda server: server.counts[f"/{name}"] > asked)
        big = client.request(path="/big")
        envoy.wait_stat("cluster.upstream.upstream_flow_control_paused_reading_total")
        answer = client.answer(held)
        assert len(client.answer(big).body) == BIG
        delay = LONG if promised(position, alone=case.alone) else None
        replace(case.outcome, delay=delay).check(answer)


def test_a_tls_client(
    envoys: Envoys, upstream: Upstream, position: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same over TLS, where Envoy buffers once more."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    issued = authority.issue("server", "127.0.0.1")
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position)
    plain = config["static_resources"]["listeners"][0]
    secure = copy.deepcopy(plain) | {"name": "https"}
    secure["filter_chains"][0]["transport_socket"] = {
        "name": "tls",
        "typed_config": {
            "@type": f"{TYPE}envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "alpn_protocols": ["h2"],
                "tls_certificates": [
                    {
                        "certificate_chain": {"filename": str(issued.certificate)},
                        "private_key": {"filename": str(issued.key)},
                    }
                ],
            },
        },
    }
    config["static_resources"]["listeners"].append(secure)
    trust = ssl.create_default_context(cafile=str(authority.certificate))
    with (
        envoys.on(config) as envoy,
        Http2Client(
            envoy.address("https"), connection_window=WIDE, stream_window=WIDE, tls=trust, receive_buffer=4096
        ) as client,
    ):
        beside_a_download(envoy, client, upstream, position, "body")


def test_a_window_and_a_listener_of_many_mebibytes(envoys: Envoys, upstream: Upstream, position: str) -> None:
    """More room than any client needs only puts the mark higher."""
    config = static_bootstrap(upstream.port, routes=[route("/huge"), *ROUTES], position=position)
    config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = 64 * MIB
    with (
        envoys.on(config) as envoy,
        Http2Client(
            envoy.address(), connection_window=WIDE, stream_window=WIDE, receive_buffer=4096
        ) as client,
    ):
        beside_a_download(envoy, client, upstream, position, "body", path="/huge", size=12 * BIG)


@pytest.mark.parametrize("trailers", [(), TRAILERS], ids=["plain", "trailers"])
def test_many_at_once_on_one_connection(
    envoys: Envoys, upstream: Upstream, position: str, trailers: tuple[tuple[str, str], ...]
) -> None:
    """Twenty delayed responses of 100 KB become due together: more than the connection may buffer."""
    upstream["/many"] = Behaviour(size=100_000, trailers=trailers)
    config = static_bootstrap(upstream.port, routes=[route("/", always(200, HOLD))], position=position)
    with (
        envoys.on(config) as envoy,
        Http2Client(envoy.address(), connection_window=WIDE, stream_window=WIDE) as client,
    ):
        outcome = Outcome(200, FILLER * 6250, trailers, promised(position, alone=not trailers))
        for _ in range(3):
            for number in [client.request(path="/many") for _ in range(20)]:
                outcome.check(client.answer(number))


def test_h2load(envoys: Envoys, upstream: Upstream, position: str, to_http2: bool) -> None:
    """A common load: ten connections of twenty streams, bodies of 100 KB, 50 ms."""
    h2load = shutil.which("h2load")
    assert h2load, "missing: h2load; get it: apt-get install nghttp2-client"
    upstream["/load"] = Behaviour(size=100_000)
    routes = [route("/", always(200, "50ms"))]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=to_http2)
    with envoys.on(config) as envoy:
        command = [h2load, "-n", "600", "-c", "10", "-m", "20", "-w", "30", "-W", "30", envoy.url("/load")]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        assert "status codes: 600 2xx, 0 3xx, 0 4xx, 0 5xx" in told, told
