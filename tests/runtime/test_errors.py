"""What the filter cannot do, it leaves: the upstream's response passes, and a counter says so."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .profiles import always, faults

NO_TIMER_THREAD = Path(__file__).parent / "double" / "no_timer_thread.c"
PREFIX = "cluster.upstream.brownout"
TIMES = {200: 1, 302: 2, 404: 3, 500: 4}


@pytest.fixture
def envoy(version: str, tmp_path: Path) -> Iterator[EnvoyProcess]:
    """One whose filter cannot hold anything."""
    library = tmp_path / "no_timer_thread.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", NO_TIMER_THREAD, "-o", library, "-ldl"], check=True
    )
    paths = {f"/{status}": Behaviour(status=status, body=b"the upstream's own") for status in TIMES}
    routes = [route("/now", always(418)), route("/", always(503, "60s"))]
    with (
        Upstream(paths) as upstream,
        EnvoyProcess(
            static_bootstrap(upstream.port, routes=routes), version=version, env={"LD_PRELOAD": str(library)}
        ) as process,
    ):
        yield process


def test_a_response_that_cannot_be_held_passes_and_counts_by_its_class(envoy: EnvoyProcess) -> None:
    """Without a timer nothing is delayed or replaced; the upstream's status says which counter it is."""
    for status, times in TIMES.items():
        for _ in range(times):
            answer = exchange(envoy.address(), path=f"/{status}")
            assert (answer.status, bytes(answer.body)) == (status, b"the upstream's own")
            assert faults(answer) == {}
    found = envoy.stats(f"^{PREFIX}[.](injected|delayed|errors)_")
    assert {name.removeprefix(f"{PREFIX}."): count for name, count in found.items() if count} == {
        f"errors_{status // 100}xx": times for status, times in TIMES.items()
    }
    wait_until(lambda: envoy.stat(f"{PREFIX}.in_flight") == 0)
    assert envoy.stat(f"{PREFIX}.held") == 0


def test_what_needs_no_timer_is_still_injected(envoy: EnvoyProcess) -> None:
    """A status without a delay is replaced."""
    exchange(envoy.address(), path="/500")
    assert exchange(envoy.address(), path="/now").status == 418
    assert envoy.stat(f"{PREFIX}.injected_4xx") == 1
