"""Whatever bytes come: a clear refusal, or a value that keeps every rule and survives its own writing."""

import json
from collections.abc import Callable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brownout.profile import (
    ValidationFailed,
    filter_wire,
    load_filter_config,
    load_profile,
    load_route_config,
    route_wire,
)
from tests.profile.costs import peak, plain, seconds
from tests.profile.fuzz_seeds import DOCUMENTS, SEEDS, TOKENS
from tests.profile.fuzzing import LONGEST_INPUT, Fuzzer
from tests.profile.invariants import check_behavior, check_binding, check_filter
from tests.profile.samples import LOAD_BASED, RESPONSE

# What an input may cost beside a plain document that is as long as any; the dearest found took 1.5 and 7.
TIMES, MEMORY = 6, 20
LOADERS: tuple[Callable[[bytes], Any], ...] = (load_profile, load_route_config, load_filter_config)


def feed(data: bytes) -> object:
    """Give the bytes to one of the loaders, hold it to its word, and tell what came out."""
    load = LOADERS[crc32(data) % len(LOADERS)]
    return load.__name__, _outcome(load, data)


def _outcome(load: Callable[[bytes], Any], data: bytes) -> object:
    value: Any = None
    refused = None
    try:
        value = load(data)
    except ValidationFailed as failed:
        refused = failed
    if refused is not None:
        assert refused.errors
        assert all("\n" not in str(error) and len(error.message) < 500 for error in refused.errors)
        return tuple(sorted({error.message[:15] for error in refused.errors}))
    if load is load_profile:
        check_behavior(value)
    elif load is load_route_config:
        check_behavior(value.behavior)
        check_binding(value.binding)
        assert load_route_config(route_wire(value.behavior, value.binding)) == value
    else:
        check_filter(value)
        assert load_filter_config(filter_wire(value)) == value
    return "accepted"


def fuzzer(seed: int) -> Fuzzer:
    most = TIMES * seconds(feed, plain(LONGEST_INPUT))
    return Fuzzer(feed, SEEDS, TOKENS, "brownout/profile/", seed, most=most)


def the_slowest_take_little_memory(fuzz: Fuzzer) -> None:
    most = MEMORY * peak(feed, plain(LONGEST_INPUT))
    for data in fuzz.slowest:
        assert peak(feed, data) < most, data


def test_a_thousand_mutated_documents_are_refused_clearly_or_read_rightly() -> None:
    fuzz = fuzzer(seed=1)
    before = fuzz.coverage
    fuzz.run(1_000)
    assert fuzz.coverage > before
    the_slowest_take_little_memory(fuzz)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_a_million_mutated_documents_are_refused_clearly_or_read_rightly(seed: int) -> None:
    fuzz = fuzzer(seed)
    fuzz.run(250_000)
    the_slowest_take_little_memory(fuzz)


names = st.sampled_from(
    [
        "responses",
        "load_based",
        "endpoints",
        "match",
        "headers",
        "status",
        "resolution",
        "distribution",
        "p50",
        "x",
    ]
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["20ms", "/", "te"]),
)
trees = st.recursive(
    scalars | st.sampled_from([RESPONSE, LOAD_BASED, *DOCUMENTS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
).filter(lambda tree: not isinstance(tree, str))  # that would be a document


@settings(max_examples=300, deadline=None)
@given(trees)
def test_any_parsed_value_is_refused_or_valid_and_means_the_same_as_its_text(tree: Any) -> None:
    outcome = _outcome(load_filter_config, tree)
    try:
        text = json.dumps(tree, allow_nan=False)
    except ValueError:  # JSON has no word for a number in it
        assert outcome != "accepted"
        return
    assert (_outcome(load_filter_config, text.encode()) == "accepted") is (outcome == "accepted")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_valid(data: bytes) -> None:
    feed(data)
