"""Clusters that change or go while responses are held, and speak another protocol afterwards."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from tests.e2e.stack import FLEET, configuration, constant, endpoint
from tests.runtime.profiles import always
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http1Client,
    Http2Client,
    RawResponse,
    ServerProcess,
    Upstream,
    cluster,
    exchange,
    free_port,
    manager_of,
    module_filter,
    request_bytes,
    route,
    static_bootstrap,
    wait_until,
)
from tests.support.dns import NameServer

from .survivors import HOLD, TRAILERS, Outcome, promised, surviving, wait_held

LONG = "300ms"
RULES = {
    "early": always(401, HOLD),
    "plain": always(200, HOLD),
    "trailers": always(200, HOLD),
    "forced": always(503, HOLD),
    "long": always(200, LONG),
    "long-early": always(401, LONG),
}
PATHS = {
    "/early": Behaviour(status=401, early=True),
    "/long-early": Behaviour(status=401, early=True),
    "/trailers": Behaviour(trailers=TRAILERS),
}
Address = tuple[str, int]


@dataclass
class Clusters:
    """The file from which Envoy takes its cluster; one that `warms` waits for its first health check."""

    path: Path
    port: int
    position: str
    version: int = 0

    def deliver(self, *, http2: bool, warms: bool = False) -> None:
        """A new cluster of the same name."""
        filters = [module_filter(None)] if self.position != "downstream" else ()
        made = cluster(self.port, http2=http2, filters=filters)
        made["@type"] = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
        made["connect_timeout"] = f"5.{self.version + 1:03}s"  # no two are the same
        if warms:
            made["health_checks"] = [
                {
                    "timeout": "20s",
                    "interval": "20s",
                    "unhealthy_threshold": 1,
                    "healthy_threshold": 1,
                    "http_health_check": {"path": "/healthy"}
                    | ({"codec_client_type": "HTTP2"} if http2 else {}),
                }
            ]
        self._write([made])

    def remove(self) -> None:
        """No cluster at all."""
        self._write([])

    def _write(self, resources: list[dict[str, Any]]) -> None:
        self.version += 1
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"version_info": str(self.version), "resources": resources}))
        new.replace(self.path)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(PATHS) as server:
        yield server


@pytest.fixture
def clusters(tmp_path: Path, upstream: Upstream, position: str) -> Clusters:
    return Clusters(tmp_path / "clusters.json", upstream.port, position)


def bootstrap(clusters: Clusters) -> dict[str, Any]:
    routes = [route(f"/{name}", rule) for name, rule in RULES.items()]
    config = static_bootstrap(clusters.port, routes=routes, position=clusters.position)
    del config["static_resources"]["clusters"]
    manager_of(config)["route_config"]["validate_clusters"] = False
    folder = {"path": str(clusters.path.parent)}
    source = {"path_config_source": {"path": str(clusters.path), "watched_directory": folder}}
    config["dynamic_resources"] = {"cds_config": source}
    return config


def ask(address: Address, name: str, *, http2: bool) -> RawResponse:
    """One request; an early one never ends."""
    if not name.endswith("early"):
        return exchange(address, path=f"/{name}", http2=http2)
    if http2:
        with Http2Client(address) as two:
            return two.answer(two.request("POST", f"/{name}", body=b"half", end=False))
    with Http1Client(address) as one:
        one.send(request_bytes("POST", f"/{name}", headers=[("content-length", "8")], body=b"half"))
        return one.answer()


def reaches(upstream: Upstream, address: Address) -> bool:
    """Whether requests come to the upstream."""
    before = upstream.counts["/plain"]
    ask(address, "plain", http2=False)
    return upstream.counts["/plain"] > before


def all_is_well(address: Address, position: str) -> None:
    """Each kind of request gets what it has to get from either kind of client."""
    for http2 in (False, True):
        early = promised(position, alone=False)
        Outcome(401, delay=early).check(ask(address, "early", http2=http2))
        Outcome(200).check(ask(address, "plain", http2=http2))
        Outcome(200, trailers=TRAILERS, delay=early).check(ask(address, "trailers", http2=http2))
        assert ask(address, "forced", http2=http2).status == 503


class Traffic:
    """Requests in a few lanes for as long as the block lasts."""

    def __init__(self, address: Address, *names: str) -> None:
        self.answers: list[tuple[str, int]] = []
        self._address = address
        self._names = names
        self._over = threading.Event()

    def _lane(self, name: str, *, http2: bool) -> None:
        while not self._over.is_set():
            self.answers.append((name, ask(self._address, name, http2=http2).status))

    def wait_more(self, count: int) -> None:
        """Wait until so many requests more have been answered."""
        seen = len(self.answers)
        wait_until(lambda: len(self.answers) > seen + count, timeout=30)

    def __enter__(self) -> Self:
        lanes = [(name, http2) for name in self._names for http2 in (False, True)]
        self._pool = ThreadPoolExecutor(len(lanes))
        self._lanes = [self._pool.submit(partial(self._lane, name, http2=http2)) for name, http2 in lanes]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for lane in self._lanes:
            lane.result()


@pytest.mark.parametrize("first", [False, True], ids=["http1-to-http2", "http2-to-http1"])
def test_a_cluster_that_changes_its_protocol(
    upstream: Upstream, clusters: Clusters, version: str, position: str, first: bool
) -> None:
    """Requests go on while the new cluster warms, when it takes over, and when what was held is due."""
    clusters.deliver(http2=first)
    with EnvoyProcess(bootstrap(clusters), version=version) as process, surviving(process) as envoy:
        address = envoy.address()
        all_is_well(address, position)
        gate = upstream.gate()
        upstream["/healthy"] = Behaviour(gate=gate)
        with (
            Traffic(address, "early", "plain", "trailers", "forced") as traffic,
            ThreadPoolExecutor() as pool,
        ):
            clusters.deliver(http2=not first, warms=True)
            gate.wait_waiting(1)
            assert envoy.stat("cluster_manager.warming_clusters") == 1
            traffic.wait_more(40)
            held = [
                pool.submit(ask, address, name, http2=http2)
                for name in ("long", "long-early")
                for http2 in (False, True)
            ]
            wait_held(envoy)
            gate.open()
            wait_until(lambda: envoy.stat("cluster_manager.warming_clusters") == 0)
            traffic.wait_more(40)
            assert {answer.result().status for answer in held} <= {200, 401, 503}
        assert set(traffic.answers) <= {
            ("early", 401),
            ("plain", 200),
            ("trailers", 200),
            ("forced", 503),
            *((name, 503) for name in PATHS),
        }
        all_is_well(address, position)
        assert envoy.stat("cluster_manager.cluster_modified") == 1


@pytest.mark.parametrize("http2", [False, True], ids=["to-http1", "to-http2"])
def test_a_cluster_that_goes_during_a_hold(
    upstream: Upstream, clusters: Clusters, version: str, position: str, http2: bool
) -> None:
    """What is held is answered, and Envoy lives without the cluster and with a new one."""
    clusters.deliver(http2=http2)
    with EnvoyProcess(bootstrap(clusters), version=version) as process, surviving(process) as envoy:
        address = envoy.address()
        for _ in range(3):
            with ThreadPoolExecutor() as pool:
                held: list[Future[RawResponse]] = [
                    pool.submit(ask, address, name, http2=from_http2)
                    for name in ("long", "long-early", "long")
                    for from_http2 in (False, True)
                ]
                wait_held(envoy)
                clusters.remove()
                wait_until(lambda: not reaches(upstream, address))
                assert {answer.result().status for answer in held} <= {200, 401, 503, 0}
            clusters.deliver(http2=http2)
            wait_until(lambda: reaches(upstream, address))
        all_is_well(address, position)


def backend(protocol: str, host: str, port: int) -> dict[str, Any]:
    return {"hosts": [{"address": host, "port": port}], "protocol": protocol}


@pytest.mark.parametrize("first", ["http1", "http2"])
def test_an_upstream_whose_protocol_is_edited(
    upstream: Upstream, version: str, tmp_path: Path, first: str
) -> None:
    """The control plane's routes and clusters change at different moments; early answers never stop."""
    port = free_port()
    setup = configuration(
        port,
        upstream.port,
        profiles={"early": constant((401, HOLD))},
        endpoints=[endpoint("early", "/early", "early")],
    )
    second = {"http1": "http2", "http2": "http1"}[first]
    with (
        NameServer() as names,
        ServerProcess(tmp_path / "brownout.db") as server,
    ):
        server.apply(setup)
        server.put("upstreams/backend", backend(first, "backend.test", upstream.port))
        process = server.envoy(FLEET, version=version)
        assert isinstance(process.config, dict)
        process.config["typed_dns_resolver_config"] = names.resolver()
        with process, surviving(process):
            server.wait_converged(FLEET)
            address = ("127.0.0.1", port)
            assert ask(address, "early", http2=False).status == 401
            with Traffic(address, "early", "early") as traffic:
                for protocol in (second, first):
                    names.shut()
                    change = backend(protocol, "backend.test", upstream.port)
                    slow = backend("http1", "slow.test", upstream.port)
                    server.put("upstreams/backend", change)
                    server.put(f"upstreams/slow-{protocol}", slow)
                    names.wait_asked()
                    traffic.wait_more(40)
                    names.open()
                    server.wait_converged(FLEET)
            assert set(traffic.answers) <= {("early", 401), ("early", 503)}
            assert ask(address, "early", http2=True).status == 401
