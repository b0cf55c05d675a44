"""Hostile documents are refused in bounded time and memory; the work is counted, not timed."""

import sys
import tracemalloc
from collections.abc import Iterator

import pytest
from ruamel.yaml import YAML

from brownout.profile import ValidationFailed, load_profile, parse_document
from brownout.profile.reading import MAX_DEPTH, MAX_FINDINGS
from tests.profile.hostile import laughs
from tests.profile.samples import errors

TOO_DEEP = [("", f"expected at most {MAX_DEPTH} levels of nesting, found more")]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events were taken from the YAML parser, as the only item."""
    taken = [0]
    parse = YAML.parse

    def counting(self: YAML, stream: object) -> Iterator[object]:
        for event in parse(self, stream):
            taken[0] += 1
            yield event

    monkeypatch.setattr(YAML, "parse", counting)
    return taken


@pytest.mark.parametrize("text", [laughs(9, 9), laughs(30, 2), laughs(3, 1000)])
def test_aliases_may_not_expand_beyond_what_a_document_could_hold_without_them(text: str) -> None:
    assert errors(parse_document, text) == [
        ("", "expected at most 1048576 bytes when all aliases are written out")
    ]


def test_an_expanding_text_is_refused_like_expanding_lists() -> None:
    text = f"a: &a {'x' * 1000}\nb: [{'*a,' * 2000}]"
    assert errors(parse_document, text) == [
        ("", "expected at most 1048576 bytes when all aliases are written out")
    ]


def test_merge_keys_have_the_same_budget() -> None:
    keys = ", ".join(f"k{n}: 1" for n in range(1000))
    text = f"a: &a {{{keys}}}\nb:\n" + "- {<<: *a}\n" * 1000
    assert errors(parse_document, text) == [
        ("", "expected at most 1048576 bytes when all aliases are written out")
    ]


def test_a_document_without_aliases_is_never_refused_for_its_expansion() -> None:
    for text in ("-\n" * 5000, "[" + "1," * 4999 + "]"):
        assert len(_parsed_within_its_own_size(text)) > len(text) // 4


def _parsed_within_its_own_size(text: str) -> list[object]:
    value = parse_document(text, max_bytes=len(text))
    assert isinstance(value, list)
    return value


def test_the_memory_of_a_refused_bomb_stays_near_the_size_of_its_text() -> None:
    text = laughs(1000, 10)
    parse_document("warm: up")
    tracemalloc.start()
    try:
        with pytest.raises(ValidationFailed):
            parse_document(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 100_000,
        '{"a":' * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "\n".join(" " * depth + "a:" for depth in range(1000)),
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "- " * (MAX_DEPTH + 1) + "x",
    ],
    ids=["[", "{a:", '{"a":', "-", "?", "block", "json", "yaml"],
)
def test_deep_nesting_is_refused_after_as_many_events_as_levels_are_allowed(
    text: str, events: list[int]
) -> None:
    assert errors(parse_document, text) == TOO_DEEP
    assert events[0] <= 3 * MAX_DEPTH + 10


@pytest.mark.parametrize("text", ["[" * MAX_DEPTH + "]" * MAX_DEPTH, "- " * MAX_DEPTH + "x"])
def test_nesting_up_to_the_limit_is_read(text: str) -> None:
    value, depth = parse_document(text), 0
    while isinstance(value, list):
        depth += 1
        value = value[0] if value else None
    assert depth == MAX_DEPTH


def test_a_nest_made_of_aliases_is_as_deep_as_one_written_out() -> None:
    def nest(levels: int) -> str:
        return "a0: &a0 []\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, levels))

    parse_document(nest(MAX_DEPTH - 1))
    assert errors(parse_document, nest(MAX_DEPTH)) == TOO_DEEP
    assert errors(parse_document, "a: &a {x: {y: z}}\nb: " + "[" * (MAX_DEPTH - 2) + "*a") == TOO_DEEP


def test_so_many_findings_are_listed_and_no_more() -> None:
    text = "{" + ", ".join(f"field{n}: 1" for n in range(5_000)) + "}"
    found = errors(load_profile, text)
    assert len(found) == MAX_FINDINGS + 1
    assert found[-1] == ("", f"only the first {MAX_FINDINGS} errors are listed")
    assert found[MAX_FINDINGS - 1][0] == f"field{MAX_FINDINGS - 1}"


def test_messages_stay_short_whatever_they_quote() -> None:
    long = "x" * 500_000
    for document in (
        {long: 1},
        {"responses": long},
        {"probability_distribution": long},
        {"seed": 10**4000},
        {"seed": -(10 ** sys.get_int_max_str_digits()) * 1000},
        {"responses": [{"status": 200, "resolution": 1, "distribution": {long: long}}]},
        {"responses": [{"status": 200, "resolution": 1, "distribution": {"p50": long}}]},
    ):
        for path, message in errors(load_profile, document):
            assert len(path) + len(message) < 400
            assert "\n" not in path + message


def test_a_mapping_that_contains_itself_is_refused_like_any_other_wrong_value() -> None:
    document: dict[str, object] = {}
    document["responses"] = [document]
    document["load_based"] = document
    found = errors(load_profile, document)
    assert "responses[0].responses" in [path for path, _ in found]
    assert len(found) < 20
