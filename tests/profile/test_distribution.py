"""Percentile keys, and durations that never decrease."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brownout.profile import load_profile
from brownout.profile.distribution import format_percentile, parse_percentile
from tests.profile.samples import PROFILE, changed, errors, paths

AT = "responses[0].distribution"


def with_distribution(distribution: object) -> dict[str, Any]:
    return changed(PROFILE, "responses", 0, "distribution", to=distribution)


@pytest.mark.parametrize(
    ("key", "quantile"),
    [
        ("p0", 0.0),
        ("p0.0", 0.0),
        ("p25.0", 0.25),
        ("p50", 0.5),
        ("p050", 0.5),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
        ("p99.999", 0.99999),
        ("p100", 1.0),
        ("p100.0", 1.0),
        ("p33.3", 0.333),
    ],
)
def test_a_key_names_the_quantile_nearest_to_its_decimal(key: str, quantile: float) -> None:
    assert parse_percentile(key) == quantile


@pytest.mark.parametrize(
    "key",
    [
        "", "p", "50", "P50", "pbad", "p-1", "p+1", "p 50", "p50 ", " p50", "p50%", "p5e1", "p1_0",
        "p.5", "p50.", "p50.0.0", "p100.1", "p101", "p100.00000000000000000000001", "pinf", "pnan", "p0x10",
        "p\u0665",        "p50\n",        "p" + "0" * 100, "p" + "9" * 5000, "p0." + "0" * 5000 + "1",
    ],
)  # fmt: skip
def test_any_other_key_is_refused_at_its_own_path(key: str) -> None:
    found = errors(load_profile, with_distribution({"p10": "1ms", key: "1ms"}))
    assert len(found) == 1
    path, message = found[0]
    assert path.startswith(AT)
    assert message.startswith('expected a percentile from "p0" to "p100", like "p50" or "p99.9", found "')
    assert len(path) + len(message) < 250


def test_points_are_ascending_whatever_the_order_of_the_keys() -> None:
    behavior = load_profile(with_distribution({"p99.9": "3s", "p0": "1ms", "p50": "20ms"}))
    assert behavior.responses is not None
    points = behavior.responses[0].distribution.points
    assert points == ((0.0, 1_000_000), (0.5, 20_000_000), (0.999, 3_000_000_000))


@pytest.mark.parametrize(
    ("first", "second"), [("p50", "p50.0"), ("p0", "p0.00"), ("p9", "p09"), ("p100", "p100.0")]
)
def test_two_keys_for_one_quantile_are_an_error(first: str, second: str) -> None:
    assert errors(load_profile, with_distribution({first: "1ms", second: "1ms"})) == [
        (f"{AT}.{second}", f"{second} and {first} are the same percentile")
    ]


def test_a_duration_below_that_of_a_lower_percentile_is_an_error_at_its_key() -> None:
    document = with_distribution({"p90": "10ms", "p99": "9ms", "p50": "20ms", "p100": "1s"})
    assert errors(load_profile, document) == [
        (f"{AT}.p90", "expected at least 20ms, the duration of p50, found 10ms"),
        (f"{AT}.p99", "expected at least 20ms, the duration of p50, found 9ms"),
    ]


def test_equal_durations_are_a_flat_distribution() -> None:
    behavior = load_profile(with_distribution({"p0": "100ms", "p100": "100ms"}))
    assert behavior.responses is not None
    assert behavior.responses[0].distribution.points == ((0.0, 100_000_000), (1.0, 100_000_000))


@pytest.mark.parametrize("duration", [5, 5.0, True, None, "", "5", "-1ms", "20 ms", ["1ms"], {"ms": 1}])
def test_a_value_that_is_no_duration_is_an_error_at_its_key(duration: object) -> None:
    assert paths(load_profile, with_distribution({"p0": "0s", "p50": duration})) == [f"{AT}.p50"]


@pytest.mark.parametrize("distribution", [{}, [], None, "p50", 5, [["p50", "1ms"]]])
def test_a_distribution_is_a_mapping_with_a_percentile_at_least(distribution: object) -> None:
    assert paths(load_profile, with_distribution(distribution)) == [AT]


def test_every_wrong_key_and_value_is_listed() -> None:
    document = with_distribution(
        {"pbad": "x", "p50": 5, "p50.0": "1ms", "p60": "2s", "p60.0": "y", "p70": "1s"}
    )
    assert paths(load_profile, document) == [
        f"{AT}.pbad", f"{AT}.pbad", f"{AT}.p50", f"{AT}.p50.0", f"{AT}.p60.0", f"{AT}.p60.0", f"{AT}.p70",
    ]  # fmt: skip


@given(st.decimals(0, 100, places=6).map(lambda number: f"p{number:f}"))
def test_a_printed_quantile_is_read_as_itself_and_is_the_shortest_key(key: str) -> None:
    quantile = parse_percentile(key)
    printed = format_percentile(quantile)
    assert parse_percentile(printed) == quantile
    assert len(printed) <= len(key)


@given(st.floats(0, 1).filter(lambda quantile: quantile == 0 or quantile > 1e-30))
def test_every_quantile_has_a_key(quantile: float) -> None:
    assert parse_percentile(format_percentile(quantile)) == quantile
