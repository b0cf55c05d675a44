"""A profile as a whole."""

from types import MappingProxyType

import pytest

from brownout.profile import Behavior, load_profile
from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE, errors, paths

EITHER = "exactly one of responses, load_based is required, found"


def test_defaults_are_those_of_a_configuration_without_optional_fields() -> None:
    behavior = load_profile(PROFILE)
    assert behavior.load_based is None
    assert behavior.probability_distribution == "stateful"
    assert behavior.diagnostic is False
    assert behavior.override == "local_response"
    assert behavior.seed is None


def test_a_profile_is_read_from_yaml_json_text_bytes_and_mappings_alike() -> None:
    yaml = "responses:\n- status: 200\n  resolution: 10\n  distribution: {p50: 20ms}\n"
    json = '{"responses": [{"status": 200, "resolution": 10, "distribution": {"p50": "20ms"}}]}'
    frozen = MappingProxyType({"responses": (MappingProxyType(RESPONSE),)})
    loaded = [load_profile(raw) for raw in (yaml, yaml.encode(), json, json.encode(), PROFILE, frozen)]
    assert all(behavior == loaded[0] for behavior in loaded)


def test_a_behavior_is_a_value() -> None:
    behavior = load_profile(PROFILE)
    assert hash(behavior) == hash(load_profile(PROFILE))
    with pytest.raises(ValueError, match="frozen"):
        behavior.diagnostic = True  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({}, "none of them"),
        ({"diagnostic": True}, "none of them"),
        ({"responses": [RESPONSE], "load_based": LOAD_BASED}, "responses and load_based"),
    ],
)
def test_a_profile_has_exactly_one_of_responses_and_load_based(
    document: dict[str, object], found: str
) -> None:
    assert errors(load_profile, document) == [("", f"{EITHER} {found}")]


@pytest.mark.parametrize("document", [None, [], [PROFILE], "responses", 5, True, b"- 1", "null"])
def test_a_profile_is_a_mapping(document: object) -> None:
    path, message = errors(load_profile, document)[0]
    assert path == ""
    assert message.startswith("expected a mapping with responses, load_based, probability_distribution, ")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("probability_distribution", ["stateful", "stateless"]),
        ("diagnostic", [True, False]),
        ("override", ["local_response", "upstream_response"]),
        ("seed", [0, 1, -1, 2**63 - 1, -(2**63)]),
    ],
)
def test_every_field_keeps_its_value(name: str, values: list[object]) -> None:
    for value in values:
        assert getattr(load_profile({**PROFILE, name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("probability_distribution", ["Stateful", "", None, True], "expected stateful or stateless, found "),
        ("diagnostic", ["true", "on", 1, 0, None, []], "expected true or false, found "),
        ("override", ["response", None, []], "expected local_response or upstream_response, found "),
        ("seed", [1.0, "1", True, None, 2**63, -(2**63) - 1], "expected an integer of 64 bits, from"),
        ("responses", [None], "expected a list, found null"),
        ("load_based", [None], "expected a mapping with healthy, tipping_point, "),
    ],
)  # fmt: skip
def test_nothing_is_coerced(name: str, values: list[object], expected: str) -> None:
    for value in values:
        document = {name: value} if name in {"responses", "load_based"} else {**PROFILE, name: value}
        path, message = errors(load_profile, document)[0]
        assert path == name
        assert message.startswith(expected)


def test_yaml_words_of_other_versions_are_strings() -> None:
    text = "responses: [{status: 200, resolution: 1, distribution: {p50: 1ms}}]\ndiagnostic: on"
    assert errors(load_profile, text) == [("diagnostic", 'expected true or false, found the string "on"')]


def test_an_unknown_field_is_refused_with_the_known_ones_and_the_nearest() -> None:
    found = errors(load_profile, {"respones": [], "Seed": 1, "zzz": 1, **PROFILE})
    fields = "responses, load_based, probability_distribution, diagnostic, override, seed"
    known = f"unknown field; known fields: {fields}"
    assert found == [
        ("respones", f'{known} (did you mean "responses"?)'),
        ("Seed", f'{known} (did you mean "seed"?)'),
        ("zzz", known),
    ]


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("percent", "belongs to the fault that binds a profile to an endpoint, not to the profile"),
        ("expires_at", "belongs to the fault that binds a profile to an endpoint, not to the profile"),
        ("match", "belongs to an endpoint, not to its profile"),
        ("endpoints", "belongs to the filter-level configuration only"),
        ("halted", "belongs to the filter-level configuration only"),
    ],
)
def test_a_field_of_another_place_is_refused_with_that_place(name: str, where: str) -> None:
    path, message = errors(load_profile, {**PROFILE, name: []})[0]
    assert path == name
    assert message.startswith(where)


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",)])
def test_keys_are_strings(key: object) -> None:
    document: dict[object, object] = {key: 1, **dict(PROFILE.items())}
    path, message = errors(load_profile, document)[0]
    assert path == ""
    assert message.startswith("expected strings as keys, found ")


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("a b", '["a b"]'),
        ("", '[""]'),
        ('"', '["\\""]'),
        ("é", '["\\u00e9"]'),
        ("x\ny", '["x\\ny"]'),
        ("a.b", "a.b"),
    ],
)
def test_a_path_is_one_printable_line_whatever_a_key_is(key: str, path: str) -> None:
    assert paths(load_profile, {**PROFILE, key: 1}) == [path]


def test_the_same_document_with_anchors_and_merge_keys_means_the_same() -> None:
    text = """
        responses:
        - &ok {status: 200, resolution: 900, distribution: &fast {p50: 20ms}}
        - {<<: *ok, status: 503, resolution: 100}
        - {status: 500, resolution: 1, distribution: *fast}
    """
    behavior = load_profile(text)
    assert behavior.responses is not None
    assert [(each.status, each.resolution) for each in behavior.responses] == [
        (200, 900),
        (503, 100),
        (500, 1),
    ]
    assert len({each.distribution for each in behavior.responses}) == 1
    assert isinstance(behavior, Behavior)
