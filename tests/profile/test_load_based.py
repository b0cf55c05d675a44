"""Tiers by the requests in flight, and the grey zone."""

from typing import Any

import pytest

from brownout.profile import GreyZone, LoadBased, load_profile
from tests.profile.samples import LOAD_BASED, changed, errors, paths, without

WHOLE = {"load_based": LOAD_BASED}


def loaded(document: dict[str, Any]) -> LoadBased:
    load_based = load_profile(document).load_based
    assert load_based is not None
    return load_based


def with_grey(name: str, value: object) -> dict[str, Any]:
    return changed(WHOLE, "load_based", "grey_zone", name, to=value)


def with_threshold(tier: str, value: object) -> dict[str, Any]:
    return changed(WHOLE, "load_based", tier, "threshold_in_flight", to=value)


def test_durations_of_the_grey_zone_are_nanoseconds_and_numbers_are_floats() -> None:
    load_based = loaded(WHOLE)
    assert (load_based.healthy.threshold_in_flight, load_based.tipping_point.threshold_in_flight) == (10, 50)
    assert load_based.grey_zone == GreyZone(
        penalty_base=50_000_000,
        spike_threshold=0.8,
        spike_penalty_duration=2_000_000_000,
        spike_penalty_multiplier=3.0,
        recovery_rate=0.5,
    )
    assert load_based.scope == "process"


def test_the_grey_zone_is_optional_and_its_fields_are_not() -> None:
    assert loaded(without(WHOLE, "load_based", "grey_zone")).grey_zone is None
    assert paths(load_profile, changed(WHOLE, "load_based", "grey_zone", to={})) == [
        f"load_based.grey_zone.{name}"
        for name in (
            "penalty_base",
            "spike_threshold",
            "spike_penalty_duration",
            "spike_penalty_multiplier",
            "recovery_rate",
        )
    ]


@pytest.mark.parametrize("name", ["healthy", "tipping_point"])
def test_both_tiers_are_required_with_threshold_and_responses(name: str) -> None:
    assert errors(load_profile, without(WHOLE, "load_based", name)) == [(f"load_based.{name}", "is required")]
    assert errors(load_profile, changed(WHOLE, "load_based", name, to={})) == [
        (f"load_based.{name}.threshold_in_flight", "is required"),
        (f"load_based.{name}.responses", "is required"),
    ]


@pytest.mark.parametrize("threshold", [0, -1, 1.0, "10", True, None, 2**53 + 1])
def test_a_threshold_is_a_positive_integer(threshold: object) -> None:
    path, message = errors(load_profile, with_threshold("healthy", threshold))[0]
    assert path == "load_based.healthy.threshold_in_flight"
    assert message.startswith("expected an integer from 1 to 2^53, found ")


@pytest.mark.parametrize("tipping_point", [10, 9, 1])
def test_the_tipping_point_is_above_the_healthy_threshold(tipping_point: int) -> None:
    assert errors(load_profile, with_threshold("tipping_point", tipping_point)) == [
        (
            "load_based.tipping_point.threshold_in_flight",
            f"expected more than healthy.threshold_in_flight, which is 10, found {tipping_point}",
        )
    ]
    assert loaded(with_threshold("tipping_point", 11)).tipping_point.threshold_in_flight == 11


def test_thresholds_are_compared_whatever_else_is_wrong_and_in_whatever_order_they_stand() -> None:
    document = {
        "load_based": {
            "tipping_point": {"responses": [], "threshold_in_flight": 5},
            "healthy": {"responses": [], "threshold_in_flight": 5, "x": 1},
        }
    }
    assert paths(load_profile, document) == [
        "load_based.healthy.x",
        "load_based.healthy.responses",
        "load_based.tipping_point.threshold_in_flight",
        "load_based.tipping_point.responses",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("penalty_base", "0"),
        ("penalty_base", "1h"),
        ("spike_penalty_duration", "0s"),
        ("spike_threshold", 0.001),
        ("spike_threshold", 0.999),
        ("spike_penalty_multiplier", 0.001),
        ("spike_penalty_multiplier", 1),
        ("spike_penalty_multiplier", 1e9),
        ("recovery_rate", 1),
        ("recovery_rate", 0.001),
    ],
)
def test_values_within_their_bounds_are_accepted(name: str, value: object) -> None:
    assert loaded(with_grey(name, value)).grey_zone is not None


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("penalty_base", [50, None, "-1ms", "50", ""], "expected a duration"),
        ("spike_penalty_duration", [2.5, False, "2 s", []], "expected a duration"),
        (
            "spike_threshold",
            [0, 1, 0.0, 1.0, -0.5, 1.5, "0.5", None, True, float("nan"), float("inf")],
            "expected a number between 0 and 1 (neither of them), found ",
        ),
        (
            "spike_penalty_multiplier",
            [0, -1, 0.0, -0.0, "3", None, True, float("nan"), float("inf"), 10**400],
            "expected a finite number greater than 0, found ",
        ),
        (
            "recovery_rate",
            [0, 1.01, -1, "1", None, True, float("nan")],
            "expected a number greater than 0 and at most 1, found ",
        ),
    ],
)
def test_values_outside_of_their_bounds_are_refused(name: str, values: list[object], expected: str) -> None:
    for value in values:
        found = errors(load_profile, with_grey(name, value))
        assert [path for path, _ in found] == [f"load_based.grey_zone.{name}"]
        assert found[0][1].startswith(expected)


@pytest.mark.parametrize("scope", ["process", "endpoint"])
def test_a_scope_is_the_process_or_the_endpoint(scope: str) -> None:
    assert loaded(changed(WHOLE, "load_based", "scope", to=scope)).scope == scope


@pytest.mark.parametrize("scope", ["", "Process", "fleet", None, True, ["process"]])
def test_there_is_no_other_scope(scope: object) -> None:
    path, message = errors(load_profile, changed(WHOLE, "load_based", "scope", to=scope))[0]
    assert path == "load_based.scope"
    assert message.startswith("expected process or endpoint, found ")


@pytest.mark.parametrize("keys", [(), ("healthy",), ("tipping_point",), ("grey_zone",)])
def test_unknown_fields_are_refused_on_every_level(keys: tuple[str, ...]) -> None:
    found = errors(load_profile, changed(WHOLE, "load_based", *keys, "treshold_in_flight", to=1))
    assert [path for path, _ in found] == [".".join(("load_based", *keys, "treshold_in_flight"))]
    assert found[0][1].startswith("unknown field; known fields: ")
