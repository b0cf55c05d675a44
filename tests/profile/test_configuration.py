"""What Envoy hands over: a route's configuration, and the filter's own."""

import json
from typing import Any

import pytest

from brownout.profile import (
    Behavior,
    Binding,
    FilterConfig,
    RouteConfig,
    load_filter_config,
    load_profile,
    load_route_config,
)
from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE, errors, paths

BEHAVIOR = load_profile(PROFILE)
EITHER = "exactly one of endpoints, responses, load_based is required, found"


def test_a_route_has_the_fields_of_behavior_and_binding_side_by_side() -> None:
    route = load_route_config({**PROFILE, "diagnostic": True, "percent": 5, "label": "a@1"})
    assert route.behavior == load_profile({**PROFILE, "diagnostic": True})
    assert route.binding == Binding(percent=5.0, label="a@1")


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"endpoints": []}, "endpoints", "belongs to the filter-level configuration only: a route's own has"),
        ({"halted": True}, "halted", "belongs to the filter-level configuration only"),
        ({"match": {}}, "match", "belongs to an entry of endpoints: Envoy has matched the route already"),
        ({"percentage": 5}, "percentage", "unknown field; known fields: responses, load_based, "),
    ],
)
def test_what_belongs_to_the_filter_level_is_refused_per_route(
    fields: dict[str, object], path: str, message: str
) -> None:
    found = errors(load_route_config, {**PROFILE, **fields})
    assert [found_path for found_path, _ in found] == [path]
    assert found[0][1].startswith(message)


def test_a_route_needs_a_behavior() -> None:
    assert errors(load_route_config, {"percent": 5}) == [
        ("", "exactly one of responses, load_based is required, found none of them")
    ]
    assert paths(load_route_config, {"endpoints": [PROFILE]}) == ["endpoints", ""]
    assert paths(load_route_config, b"") == [""]


def test_a_filter_may_have_one_behavior_for_all_requests() -> None:
    config = load_filter_config({**PROFILE, "percent": 5})
    assert config.endpoints is None
    assert config.direct == RouteConfig(behavior=BEHAVIOR, binding=Binding(percent=5.0))
    assert load_filter_config({"load_based": LOAD_BASED}).direct is not None


def test_a_filter_may_have_endpoints_in_order_and_none_at_all() -> None:
    assert load_filter_config({"endpoints": []}) == FilterConfig(endpoints=())
    config = load_filter_config(
        {"endpoints": [{"match": {"prefix": "/a"}, **PROFILE}, {"load_based": LOAD_BASED, "percent": 1}]}
    )
    assert config.direct is None
    assert config.endpoints is not None
    first, second = config.endpoints
    assert (first.match.prefix, first.behavior, first.binding) == ("/a", BEHAVIOR, Binding())
    assert second.behavior.load_based is not None
    assert second.binding.percent == 1.0


def test_mode_and_diagnostic_beside_endpoints_are_the_defaults_of_every_entry() -> None:
    own = {"probability_distribution": "stateful", "diagnostic": False}
    config = load_filter_config(
        {
            "probability_distribution": "stateless",
            "diagnostic": True,
            "endpoints": [PROFILE, {**PROFILE, **own}, {**PROFILE, "diagnostic": False}],
        }
    )
    assert config.endpoints is not None
    modes = [(each.behavior.probability_distribution, each.behavior.diagnostic) for each in config.endpoints]
    assert modes == [("stateless", True), ("stateful", False), ("stateless", False)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("override", "local_response"),
        ("seed", 1),
        ("percent", 100),
        ("expires_at", "2030-01-01T00:00:00Z"),
        ("label", "a"),
        ("headers", True),
        ("endpoint", "a"),
    ],
)
def test_every_other_field_belongs_to_the_entries(name: str, value: object) -> None:
    assert errors(load_filter_config, {"endpoints": [], name: value}) == [
        (name, "belongs to each entry of endpoints")
    ]
    load_filter_config({"endpoints": [{**PROFILE, name: value}]})


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({}, "none of them"),
        ({"diagnostic": True}, "none of them"),
        ({"halted": True, "percent": 5}, "none of them"),
        ({"endpoints": [], "responses": [RESPONSE]}, "endpoints and responses"),
        ({"endpoints": [], **PROFILE, "load_based": LOAD_BASED}, "endpoints and responses and load_based"),
    ],
)
def test_a_filter_has_exactly_one_of_endpoints_responses_and_load_based(
    document: dict[str, object], found: str
) -> None:
    assert errors(load_filter_config, document) == [("", f"{EITHER} {found}")]


def test_halted_stands_alone_or_beside_either_shape() -> None:
    assert load_filter_config({"halted": True}) == FilterConfig(halted=True)
    assert load_filter_config({"halted": False}) == FilterConfig()
    assert load_filter_config({"halted": True, "endpoints": []}) == FilterConfig(endpoints=(), halted=True)
    assert load_filter_config({"halted": True, **PROFILE}).halted is True
    for value in ("true", 1, None):
        assert errors(load_filter_config, {"halted": value})[0][1].startswith(
            "expected true or false, found "
        )


@pytest.mark.parametrize("raw", [b"", ""])
def test_no_filter_level_configuration_at_all_injects_nothing(raw: bytes | str) -> None:
    assert load_filter_config(raw) == FilterConfig()


@pytest.mark.parametrize("endpoints", [None, {}, "x", PROFILE])
def test_endpoints_are_a_list(endpoints: object) -> None:
    path, message = errors(load_filter_config, {"endpoints": endpoints})[0]
    assert path == "endpoints"
    assert message.startswith("expected a list, found ")


def test_every_entry_is_read_whatever_is_wrong_with_another() -> None:
    document = {
        "endpoints": [
            None,
            {**PROFILE, "endpoints": [], "halted": False},
            {
                "responses": [{**RESPONSE, "distribution": {"pbad": "1ms"}}],
                "percent": 101,
                "match": {"path": "/"},
            },
            {"match": {}},
        ],
        "match": {},
        "headers": True,
    }
    assert paths(load_filter_config, document) == [
        "match",
        "headers",
        "endpoints[0]",
        "endpoints[1].endpoints",
        "endpoints[1].halted",
        "endpoints[2].match.path",
        "endpoints[2].responses[0].distribution.pbad",
        "endpoints[2].percent",
        "endpoints[3]",
    ]


def grey(**fields: object) -> dict[str, Any]:
    return {"load_based": {**LOAD_BASED, "grey_zone": {**LOAD_BASED["grey_zone"], **fields}}}


def test_a_struct_in_envoys_yaml_means_what_it_says_although_envoy_makes_strings_of_its_fractions() -> None:
    # What Envoy 1.38 to 1.40 hand over for fractions and for integers beyond 32 bits.
    document = json.dumps({**grey(spike_threshold="0.75"), "percent": "12.5", "seed": "-123456789012345678"})
    route = load_route_config(document)
    assert route.behavior.load_based is not None
    assert route.behavior.load_based.grey_zone is not None
    assert route.behavior.load_based.grey_zone.spike_threshold == 0.75
    assert route.behavior.seed == -123456789012345678
    assert route.binding.percent == 12.5
    response = {**RESPONSE, "resolution": "1099511627776"}
    assert load_filter_config({"responses": [response]}).direct is not None


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({**PROFILE, "percent": "20"}, "percent"),
        ({**PROFILE, "percent": "1e400"}, "percent"),
        ({**PROFILE, "percent": "nan"}, "percent"),
        ({**PROFILE, "percent": "12.5 "}, "percent"),
        ({**PROFILE, "percent": "1_0.5"}, "percent"),
        ({**PROFILE, "percent": "\u0661.5"}, "percent"),
        ({**PROFILE, "percent": "0." + "1" * 100}, "percent"),
        ({**PROFILE, "seed": "7"}, "seed"),
        ({**PROFILE, "seed": "2147483647"}, "seed"),
        ({**PROFILE, "seed": "12.5"}, "seed"),
        ({**PROFILE, "seed": "9223372036854775808"}, "seed"),
        ({"responses": [{**RESPONSE, "status": "200"}]}, "responses[0].status"),
        ({"responses": [{**RESPONSE, "status": "200.0"}]}, "responses[0].status"),
        ({"responses": [{**RESPONSE, "status": 200.0}]}, "responses[0].status"),
    ],
)
def test_no_other_string_is_a_number_there(document: dict[str, object], path: str) -> None:
    assert paths(load_route_config, document) == [path]


def test_in_a_profile_no_string_is_a_number() -> None:
    assert paths(load_profile, grey(spike_threshold="0.75")) == ["load_based.grey_zone.spike_threshold"]
    assert paths(load_profile, {**PROFILE, "seed": "-123456789012345678"}) == ["seed"]


def test_large_integers_of_a_struct_arrive_with_an_exponent() -> None:
    text = json.dumps({**PROFILE, "seed": 0}).replace('"seed": 0', '"seed": 1.2345678901234568e+17')
    assert load_route_config(text).behavior.seed == 123_456_789_012_345_680
    for wrong in ("2e2", "1e15", "1.5", "1e+19", "9.2233720368547758e+18"):
        assert paths(load_route_config, text.replace("1.2345678901234568e+17", wrong)) == ["seed"]


def test_defaults_of_the_language_are_those_of_the_models() -> None:
    assert load_route_config(PROFILE) == RouteConfig(
        behavior=Behavior(responses=BEHAVIOR.responses), binding=Binding()
    )
