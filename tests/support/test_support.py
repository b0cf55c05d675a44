"""What the other tests stand on: the upstream server, the clients, the Envoy process."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from tests.runtime.profiles import always
from tests.support import (
    OLDER,
    REFERENCE,
    Behaviour,
    EnvoyProcess,
    Upstream,
    client,
    exchange,
    route,
    static_bootstrap,
)

EIGHT_MB = 8 * 1024 * 1024


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        "/big": Behaviour(size=EIGHT_MB),
        "/chunked": Behaviour(body=b"piece", chunked=True),
        "/trailers": Behaviour(body=b"x", trailers=(("x-end", "yes"),)),
        "/none": Behaviour(status=204),
        "/same": Behaviour(status=304, headers=(("etag", '"1"'),)),
        "/early": Behaviour(status=401, early=True),
        "/endless": Behaviour(endless=0.01),
        "/echo": Behaviour(echo=True),
        "/cut": Behaviour(reset="before"),
        "/grpc": Behaviour.grpc(b"hi"),
    }
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module", params=["direct", "envoy"])
def address(request: pytest.FixtureRequest, upstream: Upstream) -> Iterator[tuple[str, int]]:
    """The upstream itself, and the upstream behind an Envoy without the module."""
    if request.param == "direct":
        yield "127.0.0.1", upstream.port
        return
    with EnvoyProcess(static_bootstrap(upstream.port, position="none")) as envoy:
        yield envoy.address()


@pytest.fixture(params=[False, True], ids=["http1", "http2"])
def http2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_bodies_arrive_whole(address: tuple[str, int], http2: bool) -> None:
    """A body of 8 MB, a chunked one, and one that was sent come through byte for byte."""
    big = exchange(address, "GET", "/big", http2=http2)
    assert (big.status, big.complete, len(big.body)) == (200, True, EIGHT_MB)
    assert exchange(address, "GET", "/chunked", http2=http2).body == b"piece"
    echo = exchange(address, "POST", "/echo", body=b"a" * 100_000, http2=http2)
    assert b'"body_size": 100000' in echo.body


def test_responses_without_body(address: tuple[str, int], http2: bool) -> None:
    """HEAD, 204 and 304 end with their headers."""
    head = exchange(address, "HEAD", "/big", http2=http2)
    assert (head.status, len(head.body), head.header("content-length")) == (200, 0, str(EIGHT_MB))
    assert (none := exchange(address, "GET", "/none", http2=http2)).status == 204
    assert none.complete
    assert exchange(address, "GET", "/same", http2=http2).header("etag") == '"1"'


def test_trailers(address: tuple[str, int], http2: bool) -> None:
    """Trailers are seen by the client, gRPC's among them."""
    extra = [("te", "trailers")]
    assert ("x-end", "yes") in exchange(address, "GET", "/trailers", headers=extra, http2=http2).trailers
    grpc = exchange(address, "POST", "/grpc", headers=extra, body=b"\0\0\0\0\0", http2=http2)
    assert grpc.trailers == [("grpc-status", "0")]


def test_early_response(address: tuple[str, int], http2: bool) -> None:
    """A response may come while the request's body is still on its way."""
    never = threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"first"
        never.wait(10)
        yield b"last"

    answer = exchange(address, "POST", "/early", body=slow(), http2=http2)
    never.set()
    assert answer.status == 401


def test_cut(upstream: Upstream, http2: bool) -> None:
    """A reset leaves no response."""
    assert not exchange(("127.0.0.1", upstream.port), "GET", "/cut", http2=http2).complete


def test_leaving_an_endless_response_frees_it(upstream: Upstream, http2: bool) -> None:
    """Streams and connections are counted, and gone when the client is."""
    with client(upstream.url, http2=http2) as http, http.stream("GET", "/endless") as response:
        assert response.status_code == 200
        assert upstream.open_streams == 1
    upstream.wait_for(lambda server: server.open_streams == server.open_connections == 0)


def test_gate(upstream: Upstream, http2: bool) -> None:
    """A gate holds requests until they are released."""
    gate = upstream.gate()
    upstream["/gate"] = Behaviour(gate=gate)
    statuses: list[int] = []
    with client(upstream.url, http2=http2) as http:
        threads = [
            threading.Thread(target=lambda: statuses.append(http.get("/gate").status_code)) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        gate.wait_waiting(3)
        assert statuses == []
        gate.open()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 3


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_envoy_versions(upstream: Upstream, version: str) -> None:
    """Each Envoy starts, says its version, proxies, counts, and stops cleanly."""
    with EnvoyProcess(static_bootstrap(upstream.port, position="none"), version=version) as envoy:
        assert version in envoy.admin("/server_info")
        with client(envoy.url()) as http:
            assert http.get("/").text == "ok\n"
        assert envoy.wait_stat("cluster.upstream.upstream_rq_total") == 1
        assert "envoy_cluster_upstream_rq_total" in envoy.prometheus()
        assert envoy.config_dump()["configs"]


def test_refused_configuration() -> None:
    """A configuration that Envoy refuses ends it with 1, and the log says why."""
    with EnvoyProcess({"no_such_field": 1}, wait="none") as envoy:
        assert envoy.wait_exit() == 1
        assert "no_such_field" in envoy.log


@pytest.mark.parametrize("settles", [False, True])
def test_what_is_left_is_noticed(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, *, settles: bool
) -> None:
    """A request that the module still counts fails the test it was in, unless the test says that it may."""
    monkeypatch.setattr("tests.support.envoy._SETTLE_SECONDS", 0.2)
    gate = upstream.gate()
    upstream["/kept"] = Behaviour(gate=gate)
    noticed = pytest.raises(AssertionError, match="nothing held or in flight") if settles else nullcontext()
    config = static_bootstrap(upstream.port, routes=[route("/", always(200))])
    with noticed, ThreadPoolExecutor() as pool, EnvoyProcess(config, settles=settles) as envoy:
        pool.submit(exchange, envoy.address(), path="/kept")
        gate.wait_waiting(1)
    gate.open()


def test_death_is_noticed(upstream: Upstream) -> None:
    """An Envoy that dies fails the test it was in."""
    with pytest.raises(AssertionError, match="ended by itself with -9"):  # noqa: PT012, SIM117
        with EnvoyProcess(static_bootstrap(upstream.port, position="none")) as envoy:
            envoy.process.kill()
            envoy.process.wait()
