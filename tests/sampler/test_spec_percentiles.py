"""Each percentile key of the specification's table, in both modes."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response

RARE = 1e-9
SIZE = 20_000
MODES = ["stateful", "stateless"]
# The key's quantile, and a latency in milliseconds: far from linear, so that each key bends the curve.
TABLE = {
    "p0.0": (0.0, 1),
    "p25.0": (0.25, 40),
    "p50.0": (0.5, 50),
    "p75.0": (0.75, 90),
    "p90.0": (0.9, 92),
    "p95.0": (0.95, 120),
    "p99.0": (0.99, 121),
    "p99.9": (0.999, 400),
    "p99.99": (0.9999, 410),
    "p100.0": (1.0, 1_000),
}


def latencies(mode: str, leave_out: str | None = None) -> NDArray[np.float64]:
    """A cycle of latencies in milliseconds."""
    distribution = {key: f"{ms}ms" for key, (_, ms) in TABLE.items() if key != leave_out}
    entry = response(resolution=SIZE) | {"distribution": distribution}
    return draws(Sampler(profile(entry, probability_distribution=mode)), SIZE)[1] / 1e6


@pytest.fixture(scope="module", params=MODES)
def drawn(request: pytest.FixtureRequest) -> tuple[str, NDArray[np.float64]]:
    return request.param, latencies(request.param)


@pytest.mark.parametrize("key", TABLE)
def test_the_share_up_to_a_keys_duration_is_its_quantile(
    drawn: tuple[str, NDArray[np.float64]], key: str
) -> None:
    """Exactly so in a cycle, within a binomial band when stateless."""
    mode, ms = drawn
    quantile, duration = TABLE[key]
    below = int((ms <= duration).sum())
    if mode == "stateful":
        assert below == round(quantile * SIZE)
    else:
        assert stats.binomtest(below, SIZE, quantile).pvalue > RARE


@pytest.mark.parametrize("key", TABLE)
def test_no_key_is_redundant(key: str) -> None:
    """Without a key the cycle is another one: the test above would notice."""
    assert not np.array_equal(np.sort(latencies("stateful", key)), np.sort(latencies("stateful")))


def test_the_ends_are_the_least_and_the_greatest(
    drawn: tuple[str, NDArray[np.float64]],
) -> None:
    """Nothing is below p0.0 or above p100.0."""
    _, ms = drawn
    assert ms.min() >= TABLE["p0.0"][1]
    assert ms.max() <= TABLE["p100.0"][1]
