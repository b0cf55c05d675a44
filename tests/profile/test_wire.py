"""What is written is read back as the same value, and equal values are the same bytes."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brownout.profile import (
    SCHEMA_VERSION,
    Behavior,
    Binding,
    Distribution,
    EndpointConfig,
    FilterConfig,
    GreyZone,
    Header,
    HeaderMatch,
    LoadBased,
    LocalResponse,
    Match,
    Response,
    RouteConfig,
    Tier,
    canonical_json,
    dump,
    filter_wire,
    load_filter_config,
    load_profile,
    load_route_config,
    parse_document,
    route_wire,
)
from brownout.profile.timestamps import FIRST_YEAR, LAST_YEAR
from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE

durations = st.integers(0, 2**63 - 1)
quantiles = st.one_of(st.integers(0, 10_000).map(lambda n: n / 10_000), st.floats(1e-20, 1))
# Everything but what no text may hold.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
visible = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    lambda text: text == text.strip(" ")
)
tokens = st.text("abcxyz019!#$%&'*+.^_`|~-", min_size=1, max_size=8).filter(
    lambda name: name not in {"te", "host"} and not name.startswith("x-fault-")
)


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    keys = sorted(draw(st.sets(quantiles, min_size=1, max_size=5)))
    values = sorted(draw(st.lists(durations, min_size=len(keys), max_size=len(keys))))
    return Distribution(points=tuple(zip(keys, values, strict=True)))


@st.composite
def responses(draw: st.DrawFn) -> Response:
    status = draw(st.one_of(st.sampled_from([200, 204, 304, 503]), st.integers(200, 599)))
    bodies = st.just("") if status in {204, 205, 304} else texts
    headers = st.lists(st.builds(Header, name=tokens, value=st.one_of(st.just(""), visible)), max_size=2)
    local = st.builds(LocalResponse, body=st.none() | bodies, headers=headers.map(tuple))
    return Response(
        status=status,
        resolution=draw(st.integers(1, 2**40)),
        distribution=draw(distributions()),
        local_response=draw(st.none() | local),
    )


lists = st.lists(responses(), min_size=1, max_size=2).map(tuple)
grey_zones = st.builds(
    GreyZone,
    penalty_base=durations,
    spike_threshold=st.floats(0, 1, exclude_min=True, exclude_max=True),
    spike_penalty_duration=durations,
    spike_penalty_multiplier=st.floats(0, exclude_min=True, allow_infinity=False),
    recovery_rate=st.floats(0, 1, exclude_min=True),
)


@st.composite
def load_baseds(draw: st.DrawFn) -> LoadBased:
    low, high = sorted(draw(st.sets(st.integers(1, 2**53), min_size=2, max_size=2)))
    return LoadBased(
        healthy=Tier(threshold_in_flight=low, responses=draw(lists)),
        tipping_point=Tier(threshold_in_flight=high, responses=draw(lists)),
        grey_zone=draw(st.none() | grey_zones),
        scope=draw(st.sampled_from(["process", "endpoint"])),
    )


@st.composite
def behaviors(draw: st.DrawFn) -> Behavior:
    plain = draw(st.booleans())
    return Behavior(
        responses=draw(lists) if plain else None,
        load_based=None if plain else draw(load_baseds()),
        probability_distribution=draw(st.sampled_from(["stateful", "stateless"])),
        diagnostic=draw(st.booleans()),
        override=draw(st.sampled_from(["local_response", "upstream_response"])),
        seed=draw(st.none() | st.integers(-(2**63), 2**63 - 1)),
    )


# Hypothesis wants them without a zone.
FIRST, LAST = datetime(FIRST_YEAR, 1, 1), datetime(LAST_YEAR, 12, 31)  # noqa: DTZ001

bindings = st.builds(
    Binding,
    percent=st.floats(0, 100).map(abs),
    expires_at=st.none() | st.datetimes(FIRST, LAST, timezones=st.just(UTC)),
    label=st.none() | visible,
    headers=st.booleans(),
    endpoint=st.none() | visible,
)
conditions = st.one_of(
    st.builds(HeaderMatch, name=tokens, exact_match=st.just("") | visible),
    st.builds(HeaderMatch, name=st.sampled_from([":path", "host", "x"]), present_match=st.just(value=True)),
)
matches = st.builds(
    Match,
    prefix=st.none() | visible.map(lambda text: "/" + text),
    exact=st.none() | visible.map(lambda text: "/" + text.replace("?", "")),
    headers=st.lists(conditions, max_size=2).map(tuple),
)
routes = st.builds(RouteConfig, behavior=behaviors(), binding=bindings)
entries = st.builds(EndpointConfig, match=matches, behavior=behaviors(), binding=bindings)
filters = st.one_of(
    st.builds(FilterConfig, endpoints=st.lists(entries, max_size=2).map(tuple), halted=st.booleans()),
    st.builds(FilterConfig, direct=routes, halted=st.booleans()),
    st.builds(FilterConfig, halted=st.booleans()),
)


@settings(max_examples=60, deadline=None)
@given(behaviors(), bindings)
def test_a_route_that_travels_arrives_as_it_was(behavior: Behavior, binding: Binding) -> None:
    wire = route_wire(behavior, binding)
    route = load_route_config(wire)
    assert (route.behavior, route.binding) == (behavior, binding)
    assert route_wire(route.behavior, route.binding) == wire
    assert wire.isascii()
    assert canonical_json(json.loads(wire)) == wire


@settings(max_examples=40, deadline=None)
@given(filters)
def test_a_filter_level_configuration_that_travels_arrives_as_it_was(config: FilterConfig) -> None:
    wire = filter_wire(config)
    assert load_filter_config(wire) == config
    assert filter_wire(load_filter_config(wire)) == wire
    assert load_filter_config(dump(config)) == config


@settings(max_examples=25, deadline=None)
@given(behaviors())
def test_a_dumped_profile_is_the_same_as_json_and_as_yaml(behavior: Behavior) -> None:
    plain = dump(behavior)
    assert load_profile(plain) == behavior
    text = json.dumps(plain, indent=2)
    assert load_profile(text) == behavior
    # A comment makes the same text YAML.
    assert parse_document(f"# yaml\n{text}") == plain


def test_equal_behaviours_are_equal_bytes_however_they_were_written() -> None:
    one = """
        # durations, percentiles, defaults and names in other words
        diagnostic: false
        responses:
        - status: 200
          resolution: 0x0A
          distribution: {p99.90: 1m60s, p050.0: 1000us}
          local_response: {headers: [[X-A, b]]}
        probability_distribution: stateful
    """
    two = (
        '{"responses":[{"local_response":{"headers":[{"value":"b","name":"x-a"}]},"resolution":10,'
        '"distribution":{"p50":"1ms","p99.9":"2m"},"status":200}]}'
    )
    wires = {route_wire(load_profile(text), Binding(percent=100.0)) for text in (one, two)}
    canonical = (
        '{"responses":[{"distribution":{"p50":"1ms","p99.9":"2m0s"},'
        '"local_response":{"headers":[{"name":"x-a","value":"b"}]},"resolution":10,"status":200}]}'
    )
    assert wires == {canonical}


def test_defaults_are_left_out_and_everything_else_is_written_as_people_write_it() -> None:
    assert dump(load_profile(PROFILE)) == PROFILE
    assert dump(load_profile({"load_based": LOAD_BASED})) == {"load_based": LOAD_BASED}
    assert dump(Binding()) == {}
    full = {
        "percent": 20,
        "expires_at": "2030-01-31T18:00:00Z",
        "label": "a@1",
        "headers": False,
        "endpoint": "edge/pay",
    }
    assert dump(load_route_config({**PROFILE, **full}).binding) == full
    extras = {
        "probability_distribution": "stateless",
        "diagnostic": True,
        "override": "upstream_response",
        "seed": 0,
    }
    assert dump(load_profile({**PROFILE, **extras})) == {**PROFILE, **extras}


def test_a_match_is_written_as_it_is_read() -> None:
    match = {"prefix": "/a", "headers": [{"name": "x", "present_match": True}]}
    config = {"endpoints": [{"match": match, **PROFILE}]}
    loaded = load_filter_config(config)
    assert dump(loaded) == config
    assert loaded.endpoints is not None
    assert dump(loaded.endpoints[0].match) == match
    assert dump(RouteConfig(behavior=loaded.endpoints[0].behavior, binding=Binding())) == PROFILE


@pytest.mark.parametrize(("halted", "wire"), [(True, '{"halted":true}'), (False, '{"halted":false}')])
def test_a_filter_without_behaviour_says_only_whether_it_is_halted(halted: bool, wire: str) -> None:
    assert filter_wire(FilterConfig(halted=halted)) == wire
    assert load_filter_config(wire) == FilterConfig(halted=halted)


def test_a_deadline_is_written_in_utc_whatever_its_offset_was() -> None:
    moments = ("2030-01-31T18:00:00.25Z", "2030-01-31T19:00:00.250+01:00")
    wires = {route_wire(*_route({**PROFILE, "expires_at": moment})) for moment in moments}
    assert len(wires) == 1
    assert '"expires_at":"2030-01-31T18:00:00.250000Z"' in wires.pop()
    deadline = datetime(2030, 1, 31, 18, tzinfo=UTC) + timedelta(hours=1)
    assert dump(Binding(expires_at=deadline)) == {"expires_at": "2030-01-31T19:00:00Z"}


def _route(document: dict[str, object]) -> tuple[Behavior, Binding]:
    route = load_route_config(document)
    return route.behavior, route.binding


def test_json_without_a_canonical_form_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})


def test_a_change_of_any_field_changes_the_bytes() -> None:
    base = load_profile(PROFILE)
    others = [
        load_profile({"responses": [{**RESPONSE, "status": 201}]}),
        load_profile({"responses": [{**RESPONSE, "resolution": 11}]}),
        load_profile({"responses": [{**RESPONSE, "distribution": {"p50": "21ms"}}]}),
        load_profile({"responses": [{**RESPONSE, "local_response": {}}]}),
        load_profile({**PROFILE, "seed": 0}),
    ]
    wires = {route_wire(behavior, Binding()) for behavior in [base, *others]}
    wires.add(route_wire(base, Binding(percent=99.0)))
    assert len(wires) == len(others) + 2


def test_the_language_has_a_version() -> None:
    assert SCHEMA_VERSION == 1
