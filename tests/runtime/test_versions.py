"""The one build on each Envoy: delay, abort, and a pushed route."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .discovery import with_routes_from, write_routes
from .profiles import always, faults


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


@pytest.mark.parametrize("position", ["upstream", "downstream"])
def test_delay_and_abort(upstream: Upstream, version: str, position: str) -> None:
    """The filter delays and aborts, per route and at filter level."""
    routes = [route("/delay", always(200, "100ms")), route("/abort", always(503)), route("/")]
    config = static_bootstrap(
        upstream.port, routes=routes, filter_config=always(418, "1ms"), position=position
    )
    with EnvoyProcess(config, version=version) as envoy:
        started = time.monotonic()
        delayed = exchange(envoy.address(), path="/delay")
        assert time.monotonic() - started >= 0.1
        assert (delayed.status, bytes(delayed.body)) == (200, b"ok\n")
        assert faults(delayed)["x-fault-injected-delay"] == "100ms"
        assert exchange(envoy.address(), path="/abort").status == 503
        assert exchange(envoy.address(), path="/else").status == 418
        assert "[warning][dynamic_modules]" not in envoy.log


def answers(envoy: EnvoyProcess, status: int) -> bool:
    """Whether a request gets that status by now."""
    return exchange(envoy.address()).status == status


def test_a_pushed_route(upstream: Upstream, version: str, tmp_path: Path) -> None:
    """A new route configuration changes what the running Envoy injects, without touching the cluster."""
    path = tmp_path / "routes.json"
    write_routes(path, [route("/")], "1")
    with EnvoyProcess(with_routes_from(path, upstream.port), version=version) as envoy:
        assert exchange(envoy.address()).status == 200
        for number, status in enumerate((503, 418), 2):
            write_routes(path, [route("/", always(status))], str(number))
            wait_until(partial(answers, envoy, status))
        write_routes(path, [route("/")], "4")
        wait_until(partial(answers, envoy, 200))
        assert faults(exchange(envoy.address())) == {}
        assert envoy.stat("cluster_manager.cluster_modified") == 0
