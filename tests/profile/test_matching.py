"""Which requests an entry is for."""

from typing import Any

import pytest

from brownout.profile import HeaderMatch, Match, load_filter_config
from tests.profile.samples import PROFILE, errors, paths


def entry(match: object) -> dict[str, Any]:
    return {"endpoints": [{"match": match, **PROFILE}]}


def matched(match: object) -> Match:
    endpoints = load_filter_config(entry(match)).endpoints
    assert endpoints is not None
    return endpoints[0].match


def test_an_omitted_or_empty_match_has_no_condition() -> None:
    assert matched({}) == Match() == matched({"prefix": ""}) == matched({"headers": []})
    endpoints = load_filter_config({"endpoints": [PROFILE]}).endpoints
    assert endpoints is not None
    assert endpoints[0].match == Match()


def test_all_conditions_are_kept() -> None:
    match = matched({"prefix": "/a?x=1", "exact": "/a", "headers": [{"name": "X", "exact_match": "Y"}]})
    assert match == Match(prefix="/a?x=1", exact="/a", headers=(HeaderMatch(name="x", exact_match="Y"),))


@pytest.mark.parametrize(
    ("match", "path"),
    [
        ({"prefix": "a"}, "prefix"),
        ({"prefix": None}, "prefix"),
        ({"prefix": 5}, "prefix"),
        ({"prefix": "/\0"}, "prefix"),
        ({"exact": ""}, "exact"),
        ({"exact": "a"}, "exact"),
        ({"exact": "/a?x=1"}, "exact"),
        ({"exact": "/a\n"}, "exact"),
        ({"exact": None}, "exact"),
        ({"regex": ".*"}, "regex"),
        ({"headers": {}}, "headers"),
        ({"headers": ["x"]}, "headers[0]"),
        (None, ""),
        ([], ""),
        ("/a", ""),
    ],
)
def test_a_condition_that_can_never_hold_is_refused(match: object, path: str) -> None:
    assert paths(load_filter_config, entry(match)) == [".".join(filter(None, ("endpoints[0].match", path)))]


def test_the_asterisk_of_options_is_a_path() -> None:
    assert matched({"exact": "*"}).exact == "*"


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("X-Tenant", "x-tenant"),
        ("host", ":authority"),
        ("Host", ":authority"),
        (":authority", ":authority"),
        (":method", ":method"),
        (":path", ":path"),
        (":Scheme", ":scheme"),
        (":protocol", ":protocol"),
        ("content-length", "content-length"),
        ("x-fault-injected", "x-fault-injected"),
    ],
)
def test_a_header_name_compares_without_case_and_may_be_a_pseudo_header(name: str, normal: str) -> None:
    assert matched({"headers": [{"name": name, "present_match": True}]}).headers == (
        HeaderMatch(name=normal, present_match=True),
    )


AT = "endpoints[0].match.headers[0]"
EITHER = "exactly one of exact_match, present_match is required, found"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"name": "x"}, [(AT, f"{EITHER} none of them")]),
        (
            {"name": "x", "exact_match": "y", "present_match": True},
            [(AT, f"{EITHER} exact_match and present_match")],
        ),
        ({"name": "x", "present_match": False}, [(f"{AT}.present_match", "expected true, found false")]),
        ({"name": "x", "present_match": 1}, [(f"{AT}.present_match", "expected true, found the integer 1")]),
        ({"name": "x", "exact_match": None}, [(f"{AT}.exact_match", "expected a string, found null")]),
        ({"name": "x", "exact_match": 1}, [(f"{AT}.exact_match", "expected a string, found the integer 1")]),
        ({"exact_match": "x"}, [(f"{AT}.name", "is required")]),
        (
            {"name": "a b", "exact_match": "\n"},
            [
                (f"{AT}.name", 'expected a header name (letters, digits and !#$%&\'*+-.^_`|~), found "a b"'),
                (f"{AT}.exact_match", 'expected text without control characters, found "\\n"'),
            ],
        ),
        (
            {"name": ":status", "exact_match": "200"},
            [
                (
                    f"{AT}.name",
                    'expected one of :authority, :method, :path, :protocol, :scheme, found ":status"',
                )
            ],
        ),
    ],
)
def test_a_header_condition_has_a_name_and_exactly_one_test(
    condition: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    assert errors(load_filter_config, entry({"headers": [condition]})) == expected


def test_values_keep_their_case_and_may_be_empty() -> None:
    headers = [{"name": "a", "exact_match": "Yes"}, {"name": "b", "exact_match": ""}]
    assert [header.exact_match for header in matched({"headers": headers}).headers] == ["Yes", ""]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "x"},
        {"name": "x", "exact_match": "y", "present_match": True},
        {"name": "a b", "present_match": True},
        {"name": "x", "exact_match": "\r\n"},
    ],
)
def test_a_header_match_that_another_model_contains_keeps_the_same_rules(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        HeaderMatch.model_validate(fields)
    assert HeaderMatch.model_validate({"name": "Host", "exact_match": "a"}).name == ":authority"
