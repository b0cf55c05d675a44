"""Durations are Go's, to the nanosecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brownout.profile import format_duration, parse_duration

LONGEST = 2**63 - 1

# What Go's time.Duration.String prints.
GO = [
    (0, "0s"),
    (1, "1ns"),
    (999, "999ns"),
    (1_000, "1µs"),
    (1_100, "1.1µs"),
    (1_500, "1.5µs"),
    (953_946, "953.946µs"),
    (999_999, "999.999µs"),
    (1_000_000, "1ms"),
    (2_200_000, "2.2ms"),
    (52_300_000, "52.3ms"),
    (999_999_999, "999.999999ms"),
    (1_000_000_000, "1s"),
    (1_000_000_001, "1.000000001s"),
    (1_500_000_000, "1.5s"),
    (3_300_000_000, "3.3s"),
    (59_999_999_999, "59.999999999s"),
    (60_000_000_000, "1m0s"),
    (60_000_000_001, "1m0.000000001s"),
    (245_000_000_000, "4m5s"),
    (245_001_000_000, "4m5.001s"),
    (3_600_000_000_000, "1h0m0s"),
    (3_600_000_000_001, "1h0m0.000000001s"),
    (18_367_001_000_000, "5h6m7.001s"),
    (480_000_000_001, "8m0.000000001s"),
    (LONGEST, "2562047h47m16.854775807s"),
    (-1_100, "-1.1µs"),
]

# What Go's time.ParseDuration accepts.
ACCEPTED = [
    ("0", 0),
    ("+0", 0),
    ("0s", 0),
    ("5s", 5_000_000_000),
    ("+5s", 5_000_000_000),
    ("30s", 30_000_000_000),
    ("1478s", 1_478_000_000_000),
    ("5.0s", 5_000_000_000),
    ("5.6s", 5_600_000_000),
    ("5.s", 5_000_000_000),
    (".5s", 500_000_000),
    ("1.0s", 1_000_000_000),
    ("1.00s", 1_000_000_000),
    ("1.004s", 1_004_000_000),
    ("1.0040s", 1_004_000_000),
    ("100.00100s", 100_001_000_000),
    ("10ns", 10),
    ("11us", 11_000),
    ("12\u00b5s", 12_000),
    ("12\u03bcs", 12_000),
    ("13ms", 13_000_000),
    ("14s", 14_000_000_000),
    ("15m", 900_000_000_000),
    ("16h", 57_600_000_000_000),
    ("1.5h", 5_400_000_000_000),
    ("3h30m", 12_600_000_000_000),
    ("10.5s4m", 250_500_000_000),
    ("1h2m3.5s", 3_723_500_000_000),
    ("1h15m30.918273645s", 4_530_918_273_645),
    ("1s1s", 2_000_000_000),
    ("39h9m14.425s", 140_954_425_000_000),
    ("52763797000ns", 52_763_797_000),
    ("0.3333333333333333333h", 1_200_000_000_000),
    ("9007199254740993ns", 9_007_199_254_740_993),
    ("9223372036854775807ns", LONGEST),
    ("9223372036854775.807us", LONGEST),
    ("9223372036s854ms775us807ns", LONGEST),
    ("0.100000000000000000000h", 360_000_000_000),
    ("0.830103483285477580700h", 2_988_372_539_827),
    ("0.9ns", 0),
    ("0000000000000000000000000000001s", 1_000_000_000),
    (f"0.{'0' * 400}1h", 0),
]

REFUSED = [
    "",
    "+",
    "-",
    "-5s",
    "-0s",
    "--5s",
    "+-5s",
    "3",
    "1.5",
    "s",
    ".",
    ".s",
    "+.s",
    "1x",
    "1S",
    "1d",
    "1e3s",
    "1_000ms",
    "1 s",
    " 1s",
    "1s ",
    "1,5s",
    "1.2.3s",
    "0x10s",
    "\u0661s",
    "infs",
    "3000000h",
    "9223372036854775808ns",
    "9223372036854775.808us",
    "9223372036854ms775us808ns",
    "9" * 5000 + "s",
    "null",
]


@pytest.mark.parametrize(("nanoseconds", "text"), GO, ids=[text for _, text in GO])
def test_a_duration_is_printed_as_go_prints_it(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text


@pytest.mark.parametrize(("text", "nanoseconds"), ACCEPTED, ids=[text[:30] for text, _ in ACCEPTED])
def test_what_go_parses_is_parsed_to_the_same_nanosecond(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text[:30]) for text in REFUSED])
def test_what_go_refuses_and_what_is_negative_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a duration .*found \"") as refused:
        parse_duration(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("15", "the unit is missing"),
        ("15d", "the units are ns, us, ms, s, m, h"),
        ("-15s", "never negative"),
        ("3000000h", "at most 2562047h47m16.854775807s"),
    ],
)
def test_the_message_says_what_is_wrong_with_a_duration(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


@given(st.integers(0, LONGEST))
def test_every_duration_survives_printing_and_parsing(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@given(st.text(alphabet="0123456789.+-nuµsmh ", max_size=12))
def test_parsing_any_text_gives_a_duration_or_a_value_error(text: str) -> None:
    try:
        nanoseconds = parse_duration(text)
    except ValueError:
        return
    assert 0 <= nanoseconds <= LONGEST
