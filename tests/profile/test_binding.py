"""A fault's own fields, as they stand beside the behaviour."""

from datetime import UTC, datetime

import pytest

from brownout.profile import Binding, load_route_config
from tests.profile.samples import PROFILE, errors, paths


def bound(**fields: object) -> Binding:
    return load_route_config({**PROFILE, **fields}).binding


def test_without_fields_everything_takes_part_for_ever_and_shows_it() -> None:
    assert bound() == Binding()
    binding = bound()
    assert (binding.percent, binding.expires_at, binding.label) == (100.0, None, None)
    assert (binding.headers, binding.endpoint) == (True, None)


@pytest.mark.parametrize("percent", [0, 100, 20, 12.5, 1e-9, 0.0])
def test_a_percent_is_a_number_from_0_to_100(percent: float) -> None:
    binding = bound(percent=percent)
    assert binding.percent == percent
    assert type(binding.percent) is float


@pytest.mark.parametrize(
    "percent", [-1, 100.001, 101, "20", None, True, float("nan"), float("inf"), 10**400, "20%", [20]]
)
def test_any_other_percent_is_refused(percent: object) -> None:
    path, message = errors(load_route_config, {**PROFILE, "percent": percent})[0]
    assert path == "percent"
    assert message.startswith("expected a number from 0 to 100, found ")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2030-01-31T18:00:00Z", datetime(2030, 1, 31, 18, tzinfo=UTC)),
        ("2030-01-31t18:00:00z", datetime(2030, 1, 31, 18, tzinfo=UTC)),
        ("2030-01-31T18:00:00+02:00", datetime(2030, 1, 31, 16, tzinfo=UTC)),
        ("2030-01-31T18:00:00-00:30", datetime(2030, 1, 31, 18, 30, tzinfo=UTC)),
        ("2030-01-31T18:00:00.5Z", datetime(2030, 1, 31, 18, 0, 0, 500_000, tzinfo=UTC)),
        ("2030-01-31T18:00:00.123456789Z", datetime(2030, 1, 31, 18, 0, 0, 123_456, tzinfo=UTC)),
        ("2001-01-01T00:00:00Z", datetime(2001, 1, 1, tzinfo=UTC)),
        ("1678-01-01T00:00:00Z", datetime(1678, 1, 1, tzinfo=UTC)),
        ("2261-12-31T23:59:59Z", datetime(2261, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_a_deadline_is_rfc_3339_and_held_in_utc(text: str, moment: datetime) -> None:
    deadline = bound(expires_at=text).expires_at
    assert deadline == moment
    assert deadline is not None
    assert deadline.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        "", "tomorrow", "2030-01-31", "2030-01-31T18:00:00", "2030-01-31T18:00Z", "2030-01-31 18:00:00Z",
        "2030-13-01T00:00:00Z", "2030-02-30T00:00:00Z", "2030-01-31T24:00:01Z", "2030-01-31T18:00:60Z",
        "2030-01-31T18:00:00.Z", "2030-01-31T18:00:00+0200", "2030-01-31T18:00:00+02",
        "2030-01-31T18:00:00 Z",
        "2030-01-31T18:00:00+25:00", "20300131T180000Z", "2030-W05-4T18:00:00Z", "0000-01-01T00:00:00Z",
        "1677-12-31T23:59:59Z", "2262-01-01T00:00:00Z", "2261-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "\u0662030-01-31T18:00:00Z",
        "2030-01-31T18:00:00Z\n", 1_900_000_000, None, True, datetime(2030, 1, 31, tzinfo=UTC),
    ],
)  # fmt: skip
def test_any_other_deadline_is_refused(value: object) -> None:
    assert paths(load_route_config, {**PROFILE, "expires_at": value}) == ["expires_at"]


def test_a_deadline_in_yaml_needs_no_quotes() -> None:
    text = (
        "responses: [{status: 200, resolution: 1, distribution: {p50: 1s}}]\nexpires_at: 2030-01-31T18:00:00Z"
    )
    assert load_route_config(text).binding.expires_at == datetime(2030, 1, 31, 18, tzinfo=UTC)


@pytest.mark.parametrize("name", ["label", "endpoint"])
def test_label_and_endpoint_can_stand_in_a_header(name: str) -> None:
    for value in ("slow-checkout@12", "edge/pay", "é", "a\tb", "x" * 256):
        assert getattr(bound(**{name: value}), name) == value
    for wrong in ("", "x" * 257, "a\nb", "\0", " a", "a ", "\ta", "a\t", 5, None, True):
        assert paths(load_route_config, {**PROFILE, name: wrong}) == [name]


def test_headers_are_shown_or_not() -> None:
    assert bound(headers=False).headers is False
    wrong: tuple[object, ...] = ("false", 0, None, [])
    for value in wrong:
        assert paths(load_route_config, {**PROFILE, "headers": value}) == ["headers"]


@pytest.mark.parametrize(
    "fields",
    [{"percent": 100.5}, {"percent": -1.0}, {"expires_at": datetime(2030, 1, 1)}, {"percent": "1"}],  # noqa: DTZ001
)
def test_a_binding_made_in_code_is_checked_as_well(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        Binding.model_validate(fields)
