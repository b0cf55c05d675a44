"""Envoy's statistics of the filter, as `/stats/prometheus` shows them."""

import re
import socket
from collections.abc import Iterator

import pytest

from tests.support import (
    EnvoyProcess,
    Upstream,
    cluster,
    exchange,
    module_filter,
    route,
    static_bootstrap,
    wait_until,
)

from .profiles import always

ROUTES = [
    route("/delayed", always(200, "200ms")),
    route("/injected/2", always(201)),
    route("/injected/3", always(302)),
    route("/injected/4", always(404)),
    route("/injected/5", always(503)),
    route("/held", always(503, "60s")),
    route("/untouched"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def samples(envoy: EnvoyProcess) -> dict[str, float]:
    """The filter's samples: short name (with `le` for buckets) and value."""
    found = {}
    for line in envoy.prometheus().splitlines():
        named = re.fullmatch(r"envoy_cluster_brownout_(\w+)\{(.*)\} (\S+)", line)
        if named:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', named[2]))
            assert labels.pop("envoy_cluster_name") == "upstream"
            found[named[1] + "".join(f"@{value}" for value in labels.values())] = float(named[3])
    return found


def test_counters_by_status_class(upstream: Upstream) -> None:
    """Injected counts forced statuses by class, delayed what was held; untouched requests count nowhere."""
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES)) as envoy:
        for path, times in {
            "/delayed": 3,
            "/injected/2": 1,
            "/injected/3": 2,
            "/injected/4": 3,
            "/injected/5": 4,
            "/untouched": 5,
        }.items():
            for _ in range(times):
                exchange(envoy.address(), path=path)
        wait_until(lambda: samples(envoy)["in_flight"] == 0)
        found = samples(envoy)
        counters = {name: value for name, value in found.items() if re.search(r"_[2-5]xx$", name)}
        assert {name: value for name, value in counters.items() if value} == {
            "delayed_2xx": 3,
            "injected_2xx": 1,
            "injected_3xx": 2,
            "injected_4xx": 3,
            "injected_5xx": 4,
        }
        assert set(counters) == {
            f"{what}_{status}xx"
            for what in ("injected", "delayed", "expired", "errors")
            for status in (2, 3, 4, 5)
        }
        reasons = {"skipped_early", "skipped_upgrade", "skipped_trailers", "relayed", "given_up", "released"}
        assert {name: found[name] for name in reasons} == dict.fromkeys(reasons, 0)
        assert found["held"] == 0


def test_histograms_of_target_and_added_delay(upstream: Upstream) -> None:
    """Both histograms are in microseconds: every matched response's target, and what was really added."""
    config = static_bootstrap(upstream.port, routes=ROUTES) | {"stats_flush_interval": "0.1s"}
    with EnvoyProcess(config) as envoy:
        for _ in range(4):
            exchange(envoy.address(), path="/delayed")
        exchange(envoy.address(), path="/injected/5")
        counts = {"target_us_count": 5, "added_us_count": 4}  # Envoy merges them at each flush, one by one
        wait_until(lambda: counts.items() <= samples(envoy).items())
        found = samples(envoy)
    assert found["target_us_sum"] == pytest.approx(4 * 200_000, rel=0.1)
    assert 0 < found["added_us_sum"] <= found["target_us_sum"] * 1.1


def test_gauges_follow_what_is_held(upstream: Upstream) -> None:
    """`in_flight` and `held` show the present, and go back to nothing."""
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES)) as envoy:
        clients = [socket.create_connection(envoy.address()) for _ in range(5)]
        for client in clients:
            client.sendall(b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n")
        envoy.wait_stat("cluster.upstream.brownout.held", 5)
        assert envoy.stat("cluster.upstream.brownout.in_flight") == 5
        for client in clients:
            client.close()


def test_each_cluster_has_its_own(upstream: Upstream) -> None:
    """Statistics belong to the cluster whose filter runs."""
    config = static_bootstrap(
        upstream.port, routes=[route("/other", always(503), cluster="other"), route("/", always(404))]
    )
    config["static_resources"]["clusters"].append(
        cluster(upstream.port, name="other", filters=[module_filter(None)])
    )
    with EnvoyProcess(config) as envoy:
        exchange(envoy.address(), path="/other")
        exchange(envoy.address(), path="/")
        assert envoy.stat("cluster.other.brownout.injected_5xx") == 1
        assert envoy.stat("cluster.other.brownout.injected_4xx") == 0
        assert envoy.stat("cluster.upstream.brownout.injected_4xx") == 1
