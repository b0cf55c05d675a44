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
from tests.profile.fuzzing import Fuzzer
from tests.profile.invariants import check_behavior, check_binding, check_filter
from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE

LOCAL: dict[str, Any] = {"body": "x", "headers": [["content-type", "a/b"], {"name": "x", "value": ""}]}
ERROR: dict[str, Any] = {"status": 503, "resolution": 1, "distribution": {"p0": "0s", "p99.9": "1h2m3.5s"}}
BINDING: dict[str, Any] = {
    "percent": 12.5,
    "expires_at": "2030-01-31T18:00:00Z",
    "label": "a@1",
    "headers": False,
    "endpoint": "e/a",
    "upstream_protocol": "http2",
    "override": "upstream_response",
    "seed": 7,
}
MATCH: dict[str, Any] = {
    "prefix": "/a",
    "exact": "/a",
    "headers": [{"name": "Host", "exact_match": "b"}, {"name": "x", "present_match": True}],
}
DOCUMENTS: list[dict[str, Any]] = [
    PROFILE,
    {"responses": [RESPONSE, {**ERROR, "local_response": LOCAL}]},
    {"responses": [ERROR], **BINDING},
    {"load_based": {**LOAD_BASED, "scope": "endpoint"}, "diagnostic": False},
    {"endpoints": [{"match": MATCH, **PROFILE}], "probability_distribution": "stateless", "halted": True},
    {"halted": False},
]
SEEDS = [
    *(json.dumps(document).encode() for document in DOCUMENTS),
    b"responses:\n- &a\n  status: 0xC8\n  resolution: !!int 10\n  distribution: &d {p50: 2ms, 'p99': '1s'}\n",
    b"%YAML 1.2\n---\nresponses: [{<<: {status: 503}, distribution: {p0: 1s}, resolution: 1}]\n...\n",
    b"local_response: {body: |\n  text\n}\n",
    b"? diagnostic\n: &a [1, *b]\n",
]
WORDS = """
status resolution distribution local_response body headers name value responses load_based healthy
tipping_point threshold_in_flight grey_zone scope endpoints match prefix exact exact_match present_match
percent expires_at label probability_distribution diagnostic override seed halted p50 p99.9 p100.1 Host :path
te x-fault-a content-type null ~ true on NaN -Infinity .inf 1e999 1e+15 -0 0x1F 200 1099511627777 "12.5" 1.5h
-1s 9223372036854775808ns stateless
"""
TOKENS = [
    *WORDS.encode().split(),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b": ",
        b'"',
        b"'",
        b"\n",
        b"\n- ",
        b"  ",
        b"\t",
        b"? ",
        b"<<: ",
        b"&a ",
    ),
    *(b"*a", b"---\n", b"...", b"!!str ", b"!x ", b"|\n", b">-\n", b"# ", b"%YAML 1.2\n", b"9" * 30),
    *(b"\\u0000", b"\\ud800", b"\\x07", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc2\x85", "µs".encode()),
]


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
    return Fuzzer(feed, SEEDS, TOKENS, "brownout/profile/", seed)


def test_a_thousand_mutated_documents_are_refused_clearly_or_read_rightly() -> None:
    fuzz = fuzzer(seed=1)
    before = fuzz.coverage
    fuzz.run(1_000)
    assert fuzz.coverage > before


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_a_million_mutated_documents_are_refused_clearly_or_read_rightly(seed: int) -> None:
    fuzzer(seed).run(250_000)


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
