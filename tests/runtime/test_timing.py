"""When a response is released: the upstream's own time counts, only what remains is added."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support import (
    Behaviour,
    EnvoyProcess,
    Upstream,
    client,
    exchange,
    route,
    static_bootstrap,
    wait_until,
)

from .profiles import always, faults, profile, response, seconds

MIXED = profile(
    {
        "status": 200,
        "resolution": 900,
        "distribution": {"p0": "0s", "p50": "2ms", "p90": "6ms", "p100": "10ms"},
    },
    {"status": 503, "resolution": 100, "distribution": {"p0": "4ms", "p50": "5ms", "p100": "9ms"}},
)
ROUTES = [
    route("/hundred/", always(200, "100ms")),
    route("/mixed", MIXED),
    route("/per-try", always(200, "10s"), timeout="0.1s"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {"/hundred/60": Behaviour(delay=0.06), "/hundred/150": Behaviour(delay=0.15)}
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module")
def envoy(upstream: Upstream) -> Iterator[EnvoyProcess]:
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES), concurrency=2) as process:
        yield process


def test_only_the_rest_is_added(envoy: EnvoyProcess) -> None:
    """A target of 100 ms over an upstream of 60 ms: the client sees 100 ms, about 40 ms are added."""
    started = time.monotonic()
    found = faults(exchange(envoy.address(), path="/hundred/60"))
    assert time.monotonic() - started >= 0.1
    added = seconds(found["x-fault-added-delay"])
    assert 0 < added <= 0.04
    assert added + seconds(found["x-fault-actual-upstream"]) == pytest.approx(0.1, abs=1e-9)


def test_nothing_is_added_to_a_slower_upstream(envoy: EnvoyProcess) -> None:
    """A target of 100 ms over an upstream of 150 ms: nothing is added, and the header says nothing."""
    started = time.monotonic()
    found = faults(exchange(envoy.address(), path="/hundred/150"))
    assert 0.15 <= time.monotonic() - started < 0.15 + 0.1
    assert "x-fault-added-delay" not in found


def test_route_timeouts_include_the_injected_delay(envoy: EnvoyProcess) -> None:
    """In upstream position a route's timeout fires on a held response."""
    started = time.monotonic()
    assert exchange(envoy.address(), path="/per-try").status == 504
    assert time.monotonic() - started < 5


def test_ten_thousand_requests_have_the_configured_shares_and_quantiles(envoy: EnvoyProcess) -> None:
    """Statuses weighted 900 to 100 lie in a 99.9 % binomial band, and each status has its own quantiles."""
    requests = 10_000
    url = envoy.url("/mixed")

    def fetch(count: int) -> list[tuple[int, float]]:
        with client() as http:
            return [read(http.get(url)) for _ in range(count)]

    with ThreadPoolExecutor(16) as pool:
        drawn = [one for batch in pool.map(fetch, [requests // 16] * 16) for one in batch]
    statuses = Counter(status for status, _ in drawn)
    assert set(statuses) == {200, 503}
    assert abs(statuses[503] - 0.1 * len(drawn)) < 3.29 * math.sqrt(len(drawn) * 0.1 * 0.9)
    assert_quantiles([target for status, target in drawn if status == 200], {0.5: 0.002, 0.9: 0.006})
    assert_quantiles([target for status, target in drawn if status == 503], {0.5: 0.005})


def read(answer: httpx.Response) -> tuple[int, float]:
    """Status and target of a response."""
    raw = dict(answer.headers.raw)
    return answer.status_code, seconds(raw[b"x-fault-injected-delay"].decode())


def assert_quantiles(values: list[float], quantiles: dict[float, float]) -> None:
    """The share of values up to each configured one lies in a 99.9 % binomial band."""
    for quantile, value in quantiles.items():
        below = sum(one <= value for one in values) / len(values)
        band = 3.29 * math.sqrt(quantile * (1 - quantile) / len(values))
        assert abs(below - quantile) <= band, (quantile, below, band)


def test_held_requests_do_not_delay_each_other(envoy: EnvoyProcess) -> None:
    """Two hundred responses that are held at the same time are released together, not one after the other."""
    started = time.monotonic()
    address = envoy.address()
    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: exchange(address, path="/hundred/0"), range(200)))
    assert {answer.status for answer in answers} == {200}
    assert time.monotonic() - started < 200 * 0.1 / 4


def test_short_and_long_holds_mix(upstream: Upstream) -> None:
    """A short hold that starts after a long one ends before it."""
    routes = [route("/short", always(200, "20ms")), route("/long", always(200, "1s"))]
    with EnvoyProcess(static_bootstrap(upstream.port, routes=routes)) as envoy, ThreadPoolExecutor(1) as pool:
        address = envoy.address()
        long = pool.submit(exchange, address, path="/long")
        envoy.wait_stat("cluster.upstream.brownout.held")
        started = time.monotonic()
        for _ in range(5):
            exchange(address, path="/short")
        assert time.monotonic() - started < 0.9
        assert not long.done()
        assert long.result().status == 200


def test_an_hour_is_not_a_problem(upstream: Upstream) -> None:
    """The longest durations are held without overflow, and the client may leave."""
    longest = response(200, "2562047h47m16.854775807s")
    with EnvoyProcess(
        static_bootstrap(upstream.port, routes=[route("/", profile(longest), timeout="0.2s")])
    ) as envoy:
        assert exchange(envoy.address()).status == 504
        wait_until(lambda: envoy.stat("cluster.upstream.brownout.held") == 0)
