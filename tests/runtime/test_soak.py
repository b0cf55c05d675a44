"""Hostile clients, upstreams and pushes on a real Envoy, at the same time.

`BROWNOUT_SOAK_SEED` makes other random choices. The long run takes
`BROWNOUT_SOAK_SECONDS` and has `BROWNOUT_SOAK_REQUESTS` in all, divided among positions and versions;
`BROWNOUT_SOAK_CLIENTS` (names of `soak.CLIENTS` with commas) narrows down which client does it.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support import OLDER, REFERENCE

from .soak.soak import CLIENTS, Plan, Result, soak
from .soak.world import POSITIONS

SEED = int(os.environ.get("BROWNOUT_SOAK_SEED", "5"))
SECONDS = float(os.environ.get("BROWNOUT_SOAK_SECONDS", "3600"))
REQUESTS = int(os.environ.get("BROWNOUT_SOAK_REQUESTS", "10_000_000"))
ONLY = tuple(filter(None, os.environ.get("BROWNOUT_SOAK_CLIENTS", "").split(","))) or tuple(CLIENTS)
VERSIONS = (REFERENCE, *OLDER)
SHARES = {"both": 12, "upstream": 3, "downstream": 3}
WHOLE = sum(SHARES.values()) * len(VERSIONS)
SHORT = {"both": 24.0, "upstream": 12.0, "downstream": 12.0}
LEAST_PER_SECOND = 50
# From half-way to the end. What connections and configurations leave for a while differs by some MB.
SLACK = 24 * 1024 * 1024
GROWTH = 1.15
GROWTH_LONG = 1.05
# What has to have come at some places, so that faults have been injected.
DUE = {
    "delay": {200},
    "mixed": {200, 404, 503},
    "replace": {503},
    "replace-large": {503},
    "retry": {200},
}


def run(plan: Plan, folder: Path, capsys: pytest.CaptureFixture[str]) -> Result:
    """Run a soak, its progress on the terminal, and look at what came."""

    def report(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")
            sys.stdout.flush()

    report(f"BROWNOUT_SOAK_SEED={plan.seed}: Envoy {plan.version}, {plan.position}, clients {plan.clients}")
    result = asyncio.run(soak(plan, folder, report))
    tally = result.run.tally
    report(f"{plan.version} {plan.position:10} {tally.line()}; {result.memory}")
    assert not tally.wrong, "\n".join(tally.wrong)
    assert set(tally.requests) >= set(plan.clients)
    if {"http1", "http2"} & set(plan.clients):
        for place, statuses in DUE.items():
            assert {status for (_, where, status) in tally.seen if where == place} >= statuses, place
    return result


def grows_at_most(result: Result, ratio: float) -> None:
    """Memory at the end is little more than half-way."""
    middle, end = result.memory
    assert end.allocated <= middle.allocated * ratio + SLACK
    assert end.resident <= middle.resident * ratio + 3 * SLACK


@pytest.mark.parametrize("position", POSITIONS)
def test_soak(tmp_path: Path, capsys: pytest.CaptureFixture[str], position: str) -> None:
    """No crash, no wrong answer, nothing left; each position has another Envoy in each run."""
    version = VERSIONS[(SEED + POSITIONS.index(position)) % len(VERSIONS)]
    seconds = SHORT[position]
    plan = Plan(version, position, seconds, int(seconds * LEAST_PER_SECOND), SEED, ONLY)
    grows_at_most(run(plan, tmp_path, capsys), GROWTH)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 600)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("position", POSITIONS)
def test_long_soak(tmp_path: Path, capsys: pytest.CaptureFixture[str], position: str, version: str) -> None:
    """The same, an hour and ten million requests in all."""
    share = SHARES[position] / WHOLE
    plan = Plan(version, position, SECONDS * share, round(REQUESTS * share), SEED, ONLY, floods=2, niceness=0)
    grows_at_most(run(plan, tmp_path, capsys), GROWTH_LONG)
