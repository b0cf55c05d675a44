"""A sample of all combinations in the normal run; twenty-five thousand in the slow one.

MATRIX_SEED takes another sample, MATRIX_CASES makes it larger (cases for each Envoy); MATRIX_CASE is one
case, played MATRIX_CASES times at once:
MATRIX_CASE="1.40.0 both 32KiB to-http1 h2-slow limit+1-trailers delay hedging" pytest tests/runtime/matrix
"""

import os
import random

import pytest

from .cases import GROUPS, VERSIONS, Case, Group, random_cases, thorough_cases
from .stage import Certificate, run

GROUPS_OF_A_SAMPLE = 6
ALONE = os.environ.get("MATRIX_CASE", "")
CASES = int(os.environ.get("MATRIX_CASES", "1" if ALONE else "50"))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"))


def seed() -> int:
    return int(os.environ.get("MATRIX_SEED", "1"))


def report(failures: list[str], chosen: int) -> None:
    assert not failures, f"MATRIX_SEED={chosen}, {len(failures)} wrong:\n" + "\n".join(failures)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sample(certificate: Certificate, version: str) -> None:
    """Whatever is combined with whatever, Envoy lives, and clients get what they have to get."""
    if ALONE:
        case = Case.parse(ALONE)
        if case.group.version == version:
            report(run(case.group, [case] * CASES, certificate), 0)
        return
    rng = random.Random(chosen := seed())
    print(f"MATRIX_SEED={chosen}")  # noqa: T201 - seen when the test fails
    of_version = [group for group in GROUPS if group.version == version]
    failures: list[str] = []
    for group in rng.sample(of_version, GROUPS_OF_A_SAMPLE):
        failures += run(group, random_cases(group, CASES, rng), certificate)
    report(failures, chosen)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_all(certificate: Certificate, group: Group) -> None:
    """Every client with every response, at every limit, in every place, on every Envoy."""
    rng = random.Random(chosen := seed())
    report(run(group, list(thorough_cases(group, rng)), certificate), chosen)
