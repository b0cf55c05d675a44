"""A distribution's latency at a quantile: linear between the keys, from 0 below, to twice the last above."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brownout.profile import Behavior, Distribution, Response
from filter_runtime._engine import Sampler
from tests.sampler.samples import draws, profile, response

MAX_DURATION = 2**63 - 1
Points = tuple[tuple[float, int], ...]


def latencies(points: Points, quantiles: list[float]) -> list[float]:
    behavior = Behavior(
        responses=(Response(status=200, resolution=1, distribution=Distribution(points=points)),)
    )
    ns = np.empty(len(quantiles))
    Sampler(behavior).fill_quantiles(0, np.array(quantiles), ns)
    return ns.tolist()


def exact(points: Points, quantile: float) -> Fraction:
    """Return the latency by exact arithmetic, from the definition."""
    curve = [(Fraction(q), Fraction(ns)) for q, ns in points]
    if curve[0][0] > 0:
        curve.insert(0, (Fraction(0), Fraction(0)))
    if curve[-1][0] < 1:
        curve.append((Fraction(1), 2 * curve[-1][1]))
    at = Fraction(quantile)
    for (q0, v0), (q1, v1) in pairwise(curve):
        if q0 <= at <= q1:
            return v0 + (at - q0) / (q1 - q0) * (v1 - v0)
    raise AssertionError(quantile)


keys = st.floats(0, 1).map(lambda q: round(q, 9))
points = st.lists(
    st.tuples(keys, st.integers(0, 10**15)), min_size=1, max_size=60, unique_by=lambda point: point[0]
)
curves = points.map(
    lambda points: tuple(zip(sorted(q for q, _ in points), sorted(ns for _, ns in points), strict=True))
)


@settings(deadline=None)
@given(curves, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_latency_is_linear_in_the_quantile(points: Points, quantiles: list[float]) -> None:
    """Every quantile of every curve has the exact latency, to a nanosecond."""
    quantiles += [q for q, _ in points]
    for quantile, found in zip(quantiles, latencies(points, quantiles), strict=True):
        assert abs(Fraction(found) - exact(points, quantile)) < 1, quantile


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (((0.5, 100),), {0.0: 0, 0.25: 50, 0.5: 100, 0.75: 150, 1.0: 200}),
        (((0.0, 100),), {0.0: 100, 0.5: 150, 1.0: 200}),
        (((1.0, 100),), {0.0: 0, 0.5: 50, 1.0: 100}),
        (((0.0, 70), (1.0, 70)), {0.0: 70, 0.3: 70, 1.0: 70}),
        (((0.2, 10), (0.4, 10), (0.9, 60)), {0.1: 5, 0.3: 10, 0.4: 10, 0.5: 20, 0.95: 90, 1.0: 120}),
    ],
)
def test_the_ends_of_a_curve(points: Points, expected: dict[float, int]) -> None:
    """Below the first key it runs from 0 to its value, above the last on to twice its value."""
    assert latencies(points, list(expected)) == pytest.approx(list(expected.values()), abs=1e-9)


def test_a_curve_of_many_keys() -> None:
    """Ten thousand keys make a curve like any other."""
    points = tuple((k / 10_000, k * k) for k in range(1, 10_000))
    quantiles = np.linspace(0, 1, 5_003).tolist()
    expected = [float(exact(points, q)) for q in quantiles[::500]]
    assert latencies(points, quantiles)[::500] == pytest.approx(expected, abs=1)


def test_the_longest_duration_does_not_overflow() -> None:
    """What exceeds 2^63 - 1 ns is 2^63 - 1 ns."""
    longest = f"{MAX_DURATION}ns"
    _, ns = draws(Sampler(profile(response(resolution=1_000, p50=longest))), 1_000)
    assert ns.min() > 0
    assert (ns == MAX_DURATION).sum() == 500
    _, ns = draws(Sampler(profile(response(p0=longest, p100=longest))), 10)
    assert set(ns.tolist()) == {MAX_DURATION}
