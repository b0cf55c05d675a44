"""Each instance of the filter learns by itself where it stands, in every arrangement that Envoy knows."""

import socketserver
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http1Client,
    Http2Client,
    RawResponse,
    Upstream,
    cluster,
    exchange,
    manager_of,
    module_filter,
    request_bytes,
    route,
    static_bootstrap,
)
from tests.support.bootstrap import TYPE

from .profiles import always, faults, profile, response, seconds

DELAY = 0.1
HOLD = "100ms"
MANAGER = "brownout"
CLUSTER = "cluster.upstream.brownout"
EARLY = Behaviour(early=True)


def timed(envoy: EnvoyProcess, path: str = "/", **options: Any) -> tuple[RawResponse, float]:
    """An answer, and how long it took."""
    started = time.monotonic()
    return exchange(envoy.address(), path=path, **options), time.monotonic() - started


def timed_upload(envoy: EnvoyProcess, path: str = "/") -> tuple[RawResponse, float]:
    """The same of a request that does not end."""
    started = time.monotonic()
    with Http1Client(envoy.address()) as http:
        http.send(request_bytes("POST", path, headers=[("content-length", "10")]))
        return http.answer(), time.monotonic() - started


def counted(envoy: EnvoyProcess, name: str) -> dict[str, int]:
    """A counter wherever it is not 0, by what precedes its name."""
    found = envoy.stats(f"brownout[.]{name}$")
    return {where.removesuffix(f".{name}"): int(value) for where, value in found.items() if value}


def expect_one_delay(envoy: EnvoyProcess, where: str = CLUSTER, path: str = "/") -> None:
    """The next answer is delayed once, by the cluster's filter, and so is one that comes early."""
    before = counted(envoy, "delayed_2xx").get(where, 0)
    answer, took = timed(envoy, path)
    assert (answer.status, answer.complete) == (200, True)
    assert DELAY <= took < 2 * DELAY + 1
    assert seconds(faults(answer)["x-fault-injected-delay"]) == DELAY
    assert counted(envoy, "delayed_2xx") == {where: before + 1}


@contextmanager
def arranged(version: str, **options: Any) -> Iterator[tuple[Upstream, dict[str, Any]]]:
    """An upstream, and a bootstrap to be changed."""
    with Upstream() as upstream:
        yield upstream, static_bootstrap(upstream.port, routes=[route("/", always(200, HOLD))], **options)


@pytest.mark.parametrize("http2", [False, True])
def test_both_know_their_place(http2: bool, version: str) -> None:
    """The cluster's decides and holds; what comes early it leaves to the connection manager's."""
    with arranged(version, http2=http2) as (upstream, config), EnvoyProcess(config, version=version) as envoy:
        upstream["/early"] = EARLY
        for _ in range(2):
            expect_one_delay(envoy)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(timed_upload, envoy, "/early")
            envoy.wait_stat(f"{MANAGER}.held")
            assert envoy.stat(f"{CLUSTER}.held") == 0
            answer, took = waiting.result()
        assert (answer.status, took >= DELAY) == (200, True)
        assert counted(envoy, "delayed_2xx") == {CLUSTER: 3}


@pytest.mark.parametrize("position", ["upstream", "downstream"])
def test_one_alone_knows_its_place(position: str, version: str) -> None:
    """It decides and holds where it stands."""
    with (
        arranged(version, position=position) as (_, config),
        EnvoyProcess(config, version=version) as envoy,
    ):
        expect_one_delay(envoy, CLUSTER if position == "upstream" else MANAGER)


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_after_an_internal_redirect(position: str, version: str) -> None:
    """Envoy takes the request from the start: each of the two responses has its own delay.

    In the cluster alone the first goes as a reply of Envoy's own, which the router does not follow; in the
    connection manager alone the filter does not see it.
    """
    redirect = Behaviour(status=302, headers=(("location", "http://test/final"),), body=b"")
    routes = [
        route("/first", always(302, HOLD), internal_redirect_policy={}),
        route("/final", always(200, HOLD)),
    ]
    status, delays = {
        "upstream": (302, {"3xx": {CLUSTER: 2}, "2xx": {}}),
        "downstream": (200, {"3xx": {}, "2xx": {MANAGER: 2}}),
        "both": (200, {"3xx": {CLUSTER: 2}, "2xx": {CLUSTER: 2}}),
    }[position]
    with Upstream({"/first": redirect}) as upstream:
        config = static_bootstrap(upstream.port, routes=routes, position=position)
        with EnvoyProcess(config, version=version) as envoy:
            for number in (1, 2):
                answer, took = timed(envoy, "/first")
                assert (answer.status, answer.complete) == (status, True)
                assert upstream.counts["/first"] == number
                assert upstream.counts["/final"] == (number if status == 200 else 0)
                assert took >= DELAY * (2 if position == "both" else 1)
                assert faults(answer)["x-fault-upstream-status"] == str(status)
            assert {kind: counted(envoy, f"delayed_{kind}") for kind in delays} == delays


class _UnixHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        """Nothing."""


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_an_upstream_on_a_unix_domain_socket(position: str, version: str, tmp_path: Path) -> None:
    """Its address is no less an address."""
    path = str(tmp_path / "upstream.sock")
    with (
        _UnixServer(path, _UnixHandler) as server,
        arranged(version, position=position) as (_, config),
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (endpoints,) = config["static_resources"]["clusters"][0]["load_assignment"]["endpoints"]
        endpoints["lb_endpoints"][0]["endpoint"]["address"] = {"pipe": {"path": path}}
        with EnvoyProcess(config, version=version) as envoy:
            expect_one_delay(envoy, MANAGER if position == "downstream" else CLUSTER)
        server.shutdown()


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_an_aggregate_cluster(position: str, version: str) -> None:
    """The request is one, whatever clusters it is led through."""
    with arranged(version, position=position) as (_, config):
        of_cluster = [] if position == "downstream" else [module_filter(None)]
        aggregate = cluster(0, name="aggregate", filters=of_cluster)
        del aggregate["type"], aggregate["load_assignment"]
        aggregate["lb_policy"] = "CLUSTER_PROVIDED"
        aggregate["cluster_type"] = {
            "name": "envoy.clusters.aggregate",
            "typed_config": {
                "@type": f"{TYPE}envoy.extensions.clusters.aggregate.v3.ClusterConfig",
                "clusters": ["upstream"],
            },
        }
        config["static_resources"]["clusters"].append(aggregate)
        routes = manager_of(config)["route_config"]["virtual_hosts"][0]["routes"]
        routes[0]["route"]["cluster"] = "aggregate"
        with EnvoyProcess(config, version=version) as envoy:
            answer, took = timed(envoy)
            assert took >= DELAY
            assert seconds(faults(answer)["x-fault-injected-delay"]) == DELAY
            assert sum(counted(envoy, "delayed_2xx").values()) == 1
            assert (MANAGER in counted(envoy, "delayed_2xx")) is (position == "downstream")


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_two_filters_in_one_chain(position: str, version: str) -> None:
    """Whoever does that gets both delays, the responses whole, and an Envoy that lives."""
    second = module_filter(always(200, "150ms")) | {"name": "second"}
    with Upstream() as upstream:
        upstream["/trailers"] = Behaviour(trailers=(("x-end", "1"),))
        upstream["/early"] = EARLY
        config = static_bootstrap(upstream.port, filter_config=always(200, HOLD), position=position)
        if position != "upstream":
            manager_of(config)["http_filters"].insert(1, second)
        if position != "downstream":
            (options,) = config["static_resources"]["clusters"][0][
                "typed_extension_protocol_options"
            ].values()
            options["http_filters"].insert(1, second)
        with EnvoyProcess(config, version=version) as envoy:
            for path in ("/", "/trailers", "/early"):
                answer, took = timed(envoy, path, http2=True)
                assert (answer.status, bytes(answer.body), answer.complete) == (200, b"ok\n", True)
                assert answer.trailers == ([("x-end", "1")] if path == "/trailers" else [])
                assert took >= 0.15 or (position == "upstream" and path != "/")
            answer, _ = timed_upload(envoy, "/early")
            assert (answer.status, bytes(answer.body), answer.complete) == (200, b"ok\n", True)


# -- Envoy's own replies


OWN = {"/direct": 404, "/empty": 503, "/missing": 503}


def own_replies(upstream: Upstream, position: str, rule: dict[str, Any]) -> dict[str, Any]:
    """Routes that Envoy answers by itself, and one that goes upstream."""
    direct = route("/direct", rule) | {"direct_response": {"status": 404}}
    del direct["route"]
    routes = [direct, route("/empty", rule, cluster="empty"), route("/missing", rule, cluster="missing")]
    config = static_bootstrap(upstream.port, routes=[*routes, route("/", always(200))], position=position)
    of_cluster = [] if position == "downstream" else [module_filter(None)]
    empty = cluster(0, name="empty", filters=of_cluster)
    empty["load_assignment"]["endpoints"] = []
    config["static_resources"]["clusters"].append(empty)
    manager_of(config)["route_config"]["validate_clusters"] = False
    return config


@pytest.mark.parametrize("path", OWN)
def test_envoys_own_replies_in_the_connection_manager_alone(path: str, version: str) -> None:
    """They are responses like any: delayed, and replaced."""
    status = OWN[path]
    with Upstream() as upstream:
        for drawn in (status, 418):
            config = own_replies(upstream, "downstream", profile(response(drawn, HOLD)))
            with EnvoyProcess(config, version=version) as envoy:
                exchange(envoy.address())
                answer, took = timed(envoy, path)
                assert (answer.status, answer.complete) == (drawn, True)
                assert took >= DELAY
                assert faults(answer)["x-fault-upstream-status"] == str(status)
                assert envoy.stat(f"{MANAGER}.delayed_{drawn // 100}xx") == 1


@pytest.mark.parametrize("path", OWN)
def test_envoys_own_replies_where_clusters_have_the_filter(path: str, version: str) -> None:
    """They are left alone, once the process knows."""
    status = OWN[path]
    with Upstream() as upstream:
        config = own_replies(upstream, "both", always(418, HOLD))
        with EnvoyProcess(config, version=version) as envoy:
            assert exchange(envoy.address(), path=path).status == 418
            assert counted(envoy, "injected_4xx") == {MANAGER: 1}
            exchange(envoy.address(), path="/met")
            answer = exchange(envoy.address(), path=path)
            assert (answer.status, faults(answer)) == (status, {})
            assert counted(envoy, "injected_4xx") == {MANAGER: 1}


# -- copies, and Envoy's own calls


@pytest.mark.parametrize("suffix", [True, False])
def test_copies_are_nobodys_requests(suffix: bool, version: str) -> None:
    """They are not delayed, draw nothing and count nowhere, the load included."""
    with Upstream() as upstream, Upstream() as mirror:
        gate = mirror.gate()
        mirror["/"] = Behaviour(gate=gate)
        policy: dict[str, Any] = {"cluster": "mirror"}
        policy |= {} if suffix else {"disable_shadow_host_suffix_append": True}
        cycle = profile(response(200, weight=10) | {"distribution": {"p0": "0s", "p100": "10us"}})
        config = static_bootstrap(
            upstream.port, routes=[route("/", cycle, request_mirror_policies=[policy])], filter_config=cycle
        )
        copies = cluster(mirror.port, name="mirror", filters=[module_filter(cycle)])
        config["static_resources"]["clusters"].append(copies)
        with EnvoyProcess(config, version=version) as envoy:
            found = [faults(exchange(envoy.address())) for _ in range(10)]
            gate.wait_waiting(10)
            assert {one["x-fault-requests-in-flight"] for one in found} == {"0"}
            drawn = sorted(one["x-fault-injected-delay"] for one in found)
            assert drawn == sorted("500ns" if k == 0 else f"{k}.5µs" for k in range(10))
            host = mirror.requests[0].header("host")
            assert host == ("test-shadow" if suffix else "test")
            assert not any(envoy.stats("^cluster[.]mirror[.]brownout").values())
            gate.open()
            envoy.wait_none("cluster.mirror.upstream_rq_active")


@pytest.mark.parametrize("status", [200, 403])
def test_envoys_own_calls_are_drawn(status: int, version: str) -> None:
    """A call of ext_authz to a cluster with the filter is delayed and replaced as a request is."""
    with Upstream() as upstream, Upstream() as authorizer:
        config = static_bootstrap(upstream.port)
        config["static_resources"]["clusters"].append(
            cluster(authorizer.port, name="authz", filters=[module_filter(always(status, HOLD))])
        )
        check = {
            "name": "authz",
            "typed_config": {
                "@type": f"{TYPE}envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
                "http_service": {"server_uri": {"uri": "http://authz", "cluster": "authz", "timeout": "5s"}},
            },
        }
        manager_of(config)["http_filters"].insert(0, check)
        with EnvoyProcess(config, version=version) as envoy:
            for number in (1, 2):
                answer, took = timed(envoy)
                assert answer.status == status
                assert took >= DELAY
                kind = f"{status // 100}xx"
                assert envoy.stat(f"cluster.authz.brownout.delayed_{kind}") == number
            assert authorizer.counts["/"] == 2
            assert upstream.counts["/"] == (2 if status == 200 else 0)
            assert envoy.stat(f"{MANAGER}.delayed_2xx") == envoy.stat(f"{CLUSTER}.delayed_2xx") == 0


# -- the client's connection


@pytest.mark.parametrize("trailers", [(), (("x-end", "1"),)])
def test_a_client_that_does_not_read_is_noticed(trailers: tuple[tuple[str, str], ...], version: str) -> None:
    """Envoy tells the connection manager's filter when its connection is full, and when it takes more.

    What falls due meanwhile goes as Envoy's reply; with trailers it waits until the client reads.
    """
    paths = {"/big": Behaviour(size=8_000_000), "/small": Behaviour(body=b"small", trailers=trailers)}
    routes = [route("/big"), route("/small", always(200, "300ms"))]
    with (
        Upstream(paths) as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=routes), version=version) as envoy,
        Http2Client(envoy.address(), receive_buffer=4096) as http,
    ):
        big = http.request(path="/big")
        envoy.wait_stat("cluster.upstream.upstream_flow_control_paused_reading_total")
        small = http.request(path="/small")
        if trailers:
            envoy.wait_stat(f"{CLUSTER}.held")
            time.sleep(0.5)  # it falls due meanwhile
            assert envoy.stat(f"{CLUSTER}.held") == 1
        else:
            envoy.wait_stat(f"{CLUSTER}.relayed")
        answers = http.answer(small), http.answer(big)
        assert [(one.status, len(one.body), one.complete) for one in answers] == [
            (200, 5, True),
            (200, 8_000_000, True),
        ]
        assert answers[0].trailers == list(trailers)
        assert faults(answers[0])["x-fault-injected-delay"] == "300ms"
        assert envoy.stat(f"{CLUSTER}.relayed") == (0 if trailers else 1)
        assert envoy.stat(f"{CLUSTER}.delayed_2xx") == 1
