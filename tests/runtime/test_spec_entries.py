"""Entries of `endpoints[]` without an id: a push that leaves one as it is does not restart its state."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, exchange, route, wait_until

from .discovery import discovered, write_filter
from .held import held
from .profiles import always, faults, profile, response, seconds

SAMPLES = 40
CYCLE = {"status": 200, "resolution": SAMPLES, "distribution": {"p0": "0s", "p100": "40us"}}
WHOLE_CYCLE = [k + 0.5 for k in range(SAMPLES)]
TENANT = {"name": "X-Tenant", "exact_match": "a"}
POST_ONLY = {"name": ":method", "exact_match": "POST"}
HOST = {"name": "Host", "present_match": True}

Entry = dict[str, Any]


def entry(behavior: Entry, **match: Any) -> Entry:
    return behavior | ({"match": match} if match else {})


MINE = entry(profile(CYCLE), prefix="/mine")
BEFORE = [entry(profile(CYCLE), prefix=f"/before/{n}") for n in range(3)]
CONDITIONAL = {"prefix": "/mine", "headers": [TENANT, POST_ONLY]}
# What stands around the unchanged entry, push after push.
PUSHES = {
    "alone": [MINE],
    "inserted": [BEFORE[0], MINE],
    "two-more-inserted": [*BEFORE, MINE],
    "reordered": [BEFORE[2], MINE, BEFORE[0], BEFORE[1]],
    "first-removed": [MINE, BEFORE[1]],
    "all-removed-but-it": [MINE],
    "equal-behaviour-narrower-match": [entry(profile(CYCLE), **CONDITIONAL), MINE],
    "equal-match-after-it": [MINE, entry(always(503), prefix="/mine")],
    "named-entry-of-equal-match-after-it": [BEFORE[0], MINE, MINE | {"endpoint": "mine"}],
    "relabelled": [MINE | {"label": "slow@2", "expires_at": "2099-01-01T00:00:00Z"}],
}


class Entries:
    """The filter-level `endpoints[]` of a running Envoy, which come from a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._write([])

    def _write(self, entries: list[Entry]) -> None:
        self._number += 1
        mark = entry(always(201, label=f"{self._number}"), exact="/version")
        write_filter(self._path, {"endpoints": [*entries, mark]}, str(self._number))

    def push(self, envoy: EnvoyProcess, entries: list[Entry]) -> None:
        """Push these entries, and wait until requests get them."""
        self._write(entries)
        wait_until(
            lambda: (
                faults(exchange(envoy.address(), path="/version")).get("x-fault-profile") == str(self._number)
            )
        )


@contextmanager
def serving(path: Path, upstream: Upstream) -> Iterator[EnvoyProcess]:
    config = discovered(path, upstream.port, routes=[route("/")])
    options = config["static_resources"]["clusters"][0]["typed_extension_protocol_options"]
    (http,) = options.values()
    del http["http_filters"][0]["disabled"]
    with EnvoyProcess(config) as envoy:
        yield envoy


def drawn(envoy: EnvoyProcess, method: str = "GET", headers: tuple[tuple[str, str], ...] = ()) -> float:
    """One more sample, in microseconds."""
    answer = exchange(envoy.address(), method, "/mine", headers=headers)
    return round(seconds(faults(answer)["x-fault-injected-delay"]) * 1e6, 1)


def test_a_cycle_goes_on_whatever_stands_around_its_entry(tmp_path: Path) -> None:
    """Entries come, go and change places; every cycle of the unchanged one serves each sample once."""
    path = tmp_path / "filter.json"
    entries = Entries(path)
    with Upstream() as upstream, serving(path, upstream) as envoy:
        samples = []
        for around in PUSHES.values():
            entries.push(envoy, around)
            samples += [drawn(envoy) for _ in range(SAMPLES // len(PUSHES) * 2)]
    assert len(samples) == 2 * SAMPLES
    for start in (0, SAMPLES):
        assert sorted(samples[start : start + SAMPLES]) == WHOLE_CYCLE


def test_a_match_is_the_same_however_it_is_written(tmp_path: Path) -> None:
    """Conditions in another order, names in another case and `host` for `:authority` match the same."""
    ways = [
        [TENANT, POST_ONLY, HOST],
        [HOST, POST_ONLY, TENANT],
        [TENANT | {"name": "x-tenant"}, POST_ONLY, HOST | {"name": ":authority"}, POST_ONLY],
        [POST_ONLY, TENANT | {"name": "X-TENANT"}, HOST],
    ]
    path = tmp_path / "filter.json"
    entries = Entries(path)
    with Upstream() as upstream, serving(path, upstream) as envoy:
        samples = []
        for number, headers in enumerate(ways):
            entries.push(envoy, [*BEFORE[:number], entry(profile(CYCLE), prefix="/mine", headers=headers)])
            samples += [drawn(envoy, "POST", (("x-tenant", "a"),)) for _ in range(SAMPLES // len(ways))]
    assert sorted(samples) == WHOLE_CYCLE


def test_the_only_behaviour_goes_on_as_the_last_entry(tmp_path: Path) -> None:
    """The direct shape is an entry that every request matches: others may come before it."""
    path = tmp_path / "filter.json"
    samples: list[float] = []

    def ask(envoy: EnvoyProcess, status: str) -> bool:
        found = faults(exchange(envoy.address()))
        if found.get("x-fault-status") == "200":
            samples.append(round(seconds(found["x-fault-injected-delay"]) * 1e6, 1))
        return found.get("x-fault-status") == status

    write_filter(path, profile(CYCLE), "direct")
    with Upstream() as upstream, serving(path, upstream) as envoy:
        wait_until(lambda: ask(envoy, "200"))
        write_filter(path, {"endpoints": [entry(always(201), prefix="/"), entry(profile(CYCLE))]}, "entries")
        wait_until(lambda: ask(envoy, "201"))
        write_filter(path, {"endpoints": [entry(always(201), prefix="/x"), entry(profile(CYCLE))]}, "others")
        wait_until(lambda: ask(envoy, "200"))
        while len(samples) % SAMPLES:
            ask(envoy, "200")
    for start in range(0, len(samples), SAMPLES):
        assert sorted(samples[start : start + SAMPLES]) == WHOLE_CYCLE


def test_entries_of_different_matches_have_cycles_of_their_own(tmp_path: Path) -> None:
    """Equal behaviours share no cycle, nor does one take over that of the entry whose place it gets."""
    path = tmp_path / "filter.json"
    entries = Entries(path)
    other = entry(profile(CYCLE), prefix="/mine", headers=[POST_ONLY])
    with Upstream() as upstream, serving(path, upstream) as envoy:
        entries.push(envoy, [other, MINE])
        posted = [drawn(envoy, "POST") for _ in range(SAMPLES // 2)]
        got = [drawn(envoy) for _ in range(SAMPLES)]
        entries.push(envoy, [MINE])
        got += [drawn(envoy) for _ in range(SAMPLES)]
        entries.push(envoy, [other])
        posted += [drawn(envoy, "POST") for _ in range(SAMPLES // 2)]
    assert sorted(posted) == WHOLE_CYCLE
    assert sorted(got[:SAMPLES]) == sorted(got[SAMPLES:]) == WHOLE_CYCLE


@pytest.mark.parametrize("scope", ["process", "endpoint"])
def test_a_spike_and_the_requests_in_flight_go_on(tmp_path: Path, scope: str) -> None:
    """With entries before it or without, the entry is recovering from its spike, and counts what it holds."""
    grey = {
        "penalty_base": "8ms",
        "spike_threshold": 0.75,
        "spike_penalty_duration": "10h",
        "spike_penalty_multiplier": 4,
        "recovery_rate": 1.0,
    }
    tiers = {
        "healthy": {"threshold_in_flight": 2, "responses": [response(200)]},
        "tipping_point": {"threshold_in_flight": 6, "responses": [response(200)]},
    }
    mine = entry({"load_based": tiers | {"grey_zone": grey, "scope": scope}}, prefix="/mine")
    path = tmp_path / "filter.json"
    entries = Entries(path)
    with (
        Upstream() as upstream,
        serving(path, upstream) as envoy,
        held(envoy, upstream, "/mine/hold") as others,
    ):

        def penalty(count: int) -> float:
            others.set(count)
            found = faults(exchange(envoy.address(), path="/mine"))
            assert found["x-fault-requests-in-flight"] == str(count)
            return seconds(found["x-fault-injected-delay"])

        entries.push(envoy, [mine])
        assert penalty(4) == pytest.approx(0.004, rel=1e-6)
        assert penalty(5) == pytest.approx(0.006 * 4, rel=1e-6)
        for around in ([BEFORE[0], mine], [*BEFORE, mine], [mine, *BEFORE], [mine]):
            entries.push(envoy, around)
            assert 0.99 * 0.016 < penalty(4) < 1.000001 * 0.016
