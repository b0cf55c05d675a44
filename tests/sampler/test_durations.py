"""Durations as Go prints them, written by the engine."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brownout.profile import format_duration
from filter_runtime._engine import duration_text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1_000, "1µs"),
        (1_100, "1.1µs"),
        (953_946, "953.946µs"),
        (52_300_000, "52.3ms"),
        (999_999_999, "999.999999ms"),
        (1_000_000_000, "1s"),
        (1_500_000_000, "1.5s"),
        (59_999_999_999, "59.999999999s"),
        (60_000_000_000, "1m0s"),
        (3_723_500_000_000, "1h2m3.5s"),
        (3_600_000_000_000, "1h0m0s"),
        (-52_300_000, "-52.3ms"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_go_prints_it_so(ns: int, text: str) -> None:
    """Values from the tests and the documentation of Go's `time.Duration.String`."""
    assert duration_text(ns) == text


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_engine_and_language_agree(ns: int) -> None:
    """The engine writes what `brownout.profile.format_duration` writes."""
    assert duration_text(ns) == format_duration(ns)


def test_engine_and_language_agree_at_every_magnitude() -> None:
    """Also for a hundred thousand durations spread over all magnitudes, round ones among them."""
    numbers = random.Random(20240601)
    for _ in range(100_000):
        ns = numbers.getrandbits(numbers.randrange(1, 64))
        ns -= ns % 10 ** numbers.randrange(12)
        assert duration_text(ns) == format_duration(ns)
