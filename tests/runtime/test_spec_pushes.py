"""A push that leaves an endpoint's behaviour as it is goes on with its cycle, its spike and its counters."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, wait_until

from .discovery import with_routes_from, write_routes
from .held import held
from .profiles import always, faults, profile, response, seconds

SAMPLES = 40
CYCLE = {"status": 200, "resolution": SAMPLES, "distribution": {"p0": "0s", "p100": "40us"}}
WHOLE_CYCLE = [k + 0.5 for k in range(SAMPLES)]
PENALTY = 0.008
MULTIPLIER = 4

Change = dict[str, Any]
# What a push may change while the behaviour and the endpoint stay; `routes` stand beside it.
CHANGES: dict[str, Change] = {
    "nothing": {},
    "label": {"label": "slow@2"},
    "deadline": {"expires_at": "2099-01-01T00:00:00Z"},
    "percent": {"percent": 99.999999},
    "diagnostic": {"diagnostic": True},
    "override": {"override": "upstream_response"},
    "another-endpoint": {"routes": [route("/other", always(503, endpoint="other"))]},
    "position": {"routes": [route(f"/before/{n}", always(503, endpoint=f"{n}")) for n in range(5)]},
}


class Routes:
    """The routes of a running Envoy, which come from a file."""

    def __init__(self, path: Path, rule: Mapping[str, Any], *routes: Mapping[str, Any]) -> None:
        self._path, self._rule, self._always = path, rule, routes
        self._number = 0
        self._write([])

    def _write(self, routes: list[dict[str, Any]], **changes: Any) -> None:
        self._number += 1
        mine = route("/mine", dict(self._rule) | changes)
        mark = {
            "match": {"path": "/version"},
            "direct_response": {"status": 200, "body": {"inline_string": str(self._number)}},
        }
        write_routes(self._path, [*routes, mark, mine, *self._always], str(self._number))

    def push(self, envoy: EnvoyProcess, change: Change) -> None:
        """Push a change, and wait until requests get it."""
        self._write(**{"routes": []} | change)
        wait_until(
            lambda: bytes(exchange(envoy.address(), path="/version").body) == str(self._number).encode()
        )


@contextmanager
def serving(path: Path, upstream: Upstream) -> Iterator[EnvoyProcess]:
    with EnvoyProcess(with_routes_from(path, upstream.port)) as envoy:
        yield envoy
        assert envoy.stat("http.http.rds.brownout.update_rejected") == 0


def drawn(envoy: EnvoyProcess) -> float:
    """One more sample, in microseconds."""
    return round(seconds(faults(exchange(envoy.address(), path="/mine"))["x-fault-injected-delay"]) * 1e6, 1)


def test_a_cycle_goes_on(tmp_path: Path) -> None:
    """Whatever else is pushed between any two draws, every cycle serves each of its samples once."""
    path = tmp_path / "routes.json"
    routes = Routes(path, profile(CYCLE, endpoint="mine"))
    with Upstream() as upstream, serving(path, upstream) as envoy:
        samples = []
        for change in CHANGES.values():
            routes.push(envoy, change)
            samples += [drawn(envoy) for _ in range(SAMPLES // 4 + 1)]
        samples += [drawn(envoy) for _ in range(-len(samples) % SAMPLES)]
    assert len(samples) >= 2 * SAMPLES
    for start in range(0, len(samples), SAMPLES):
        assert sorted(samples[start : start + SAMPLES]) == WHOLE_CYCLE


def test_another_behaviour_is_another_cycle_and_the_old_one_waits(tmp_path: Path) -> None:
    """A different distribution has samples of its own; when the first one is back, so is its cycle."""
    path = tmp_path / "routes.json"
    routes = Routes(path, profile(CYCLE, endpoint="mine"))
    other = {"responses": [CYCLE | {"distribution": {"p0": "100us", "p100": "140us"}}]}
    with Upstream() as upstream, serving(path, upstream) as envoy:
        first = [drawn(envoy) for _ in range(15)]
        routes.push(envoy, other)
        between = [drawn(envoy) for _ in range(SAMPLES)]
        routes.push(envoy, {})
        first += [drawn(envoy) for _ in range(SAMPLES - 15)]
    assert sorted(first) == WHOLE_CYCLE
    assert sorted(between) == [100 + sample for sample in WHOLE_CYCLE]


UNDER_LOAD: dict[str, Any] = {
    "load_based": {
        "healthy": {"threshold_in_flight": 2, "responses": [response(200)]},
        "tipping_point": {"threshold_in_flight": 6, "responses": [response(200)]},
        "grey_zone": {
            "penalty_base": "8ms",
            "spike_threshold": 0.75,
            "spike_penalty_duration": "10h",
            "spike_penalty_multiplier": MULTIPLIER,
            "recovery_rate": 1.0,
        },
    },
    "endpoint": "mine",
}


def test_a_spike_goes_on(tmp_path: Path) -> None:
    """A spike that a push falls into is recovered from after it, as is a recovery that has begun."""
    path = tmp_path / "routes.json"
    routes = Routes(path, UNDER_LOAD, route("/hold", always(200, endpoint="hold")))
    with Upstream() as upstream, serving(path, upstream) as envoy, held(envoy, upstream) as others:

        def penalty(count: int) -> float:
            others.set(count)
            found = faults(exchange(envoy.address(), path="/mine"))
            assert found["x-fault-requests-in-flight"] == str(count)
            return seconds(found["x-fault-injected-delay"])

        assert penalty(4) == pytest.approx(PENALTY / 2, rel=1e-6)
        assert penalty(5) == pytest.approx(PENALTY * 0.75 * MULTIPLIER, rel=1e-6)
        whole = PENALTY / 2 * MULTIPLIER
        for change in CHANGES.values():
            routes.push(envoy, change)
            assert 0.99 * whole < penalty(4) < 1.000001 * whole


def test_in_flight_goes_on(tmp_path: Path) -> None:
    """Requests that started before a push are in flight after it: the process's, and the endpoint's own."""
    path = tmp_path / "routes.json"
    per_endpoint = {"load_based": UNDER_LOAD["load_based"] | {"scope": "endpoint"}, "endpoint": "mine"}
    per_endpoint["load_based"]["tipping_point"] = {"threshold_in_flight": 3, "responses": [response(418)]}
    routes = Routes(path, per_endpoint)
    with Upstream() as upstream, serving(path, upstream) as envoy, held(envoy, upstream, "/mine/h") as others:
        assert exchange(envoy.address(), path="/mine").status == 200
        others.set(3)
        for change in CHANGES.values():
            routes.push(envoy, change)
            answer = exchange(envoy.address(), path="/mine")
            assert (answer.status, faults(answer)["x-fault-requests-in-flight"]) == (418, "3")
        other = {"load_based": per_endpoint["load_based"] | {"healthy": UNDER_LOAD["load_based"]["healthy"]}}
        other["load_based"]["tipping_point"] = {"threshold_in_flight": 3, "responses": [response(419)]}
        routes.push(envoy, other)  # another behaviour: a state of its own, and the same endpoint
        assert exchange(envoy.address(), path="/mine").status == 419
        assert envoy.stat("cluster.upstream.brownout.injected_4xx") == len(CHANGES) + 1
