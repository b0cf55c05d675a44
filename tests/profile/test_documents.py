"""One YAML 1.2 or JSON document, read strictly, with the path of everything that is wrong in it."""

from typing import Any

import pytest

from brownout.profile import MAX_DOCUMENT_BYTES, load_profile, parse_document
from tests.profile.samples import errors


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: on\nb: off\nc: yes\nd: no\ne: y", {"a": "on", "b": "off", "c": "yes", "d": "no", "e": "y"}),
        ("a: true\nb: True\nc: FALSE", {"a": True, "b": True, "c": False}),
        ("a: ~\nb:\nc: null\nd: NULL", dict.fromkeys("abcd")),
        ("a: 017\nb: 0o17\nc: 0x1F\nd: -0\ne: +5", {"a": 17, "b": 15, "c": 31, "d": 0, "e": 5}),
        ("a: 1.5\nb: .5\nc: 5.\nd: 1e3\ne: -1.5E-1", {"a": 1.5, "b": 0.5, "c": 5.0, "d": 1000.0, "e": -0.15}),
        ("a: 1_000\nb: 1:30\nc: 0b11", {"a": "1_000", "b": "1:30", "c": "0b11"}),
        ("a: 1e\nb: .\nc: 1.5s", {"a": "1e", "b": ".", "c": "1.5s"}),
        ("a: 2030-01-31\nb: 2030-01-31T18:00:00Z", {"a": "2030-01-31", "b": "2030-01-31T18:00:00Z"}),
        ("a: '200'\nb: \"true\"\nc: '~'", {"a": "200", "b": "true", "c": "~"}),
        ("a: !!str 200\nb: ! 200\nc: !!int '7'\nd: !!float 1.0", {"a": "200", "b": "200", "c": 7, "d": 1.0}),
        ("!!map\na: !!seq [!!null ~, !!bool true]", {"a": [None, True]}),
        ("a: |\n  one\n  two\nb: >\n  one\n  two\n", {"a": "one\ntwo\n", "b": "one two\n"}),
        ("{a: 1, b: [x, 'y']}", {"a": 1, "b": ["x", "y"]}),
        ("- 1\n- - 2\n", [1, [2]]),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("just text", "just text"),
        ("---", None),
    ],
)  # fmt: skip
def test_yaml_has_the_meaning_of_version_1_2(text: str, value: object) -> None:
    assert parse_document(text) == value
    assert parse_document(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, -2, 1.5, 1e3, true, false, null]}', {"a": [1, -2, 1.5, 1e3, True, False, None]}),
        ('["\\u00e9\\ud83d\\ude00", "\\"\\\\"]', ["é😀", '"\\']),
        ("[]", []),
        ("{}", {}),
        (' \n\t{\t"a"\t:\t1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": 1, b: 2,}', {"a": 1, "b": 2}),
        ("[18446744073709551615, -9223372036854775808]", [2**64 - 1, -(2**63)]),
    ],
)  # fmt: skip
def test_json_and_what_looks_like_it_is_read(text: str, value: object) -> None:
    assert parse_document(text) == value


def test_only_whole_numbers_as_envoy_prints_large_ones_of_a_struct_are_integers_despite_an_exponent() -> None:
    value = parse_document("[1e+15, 1.2345678901234568e+17, -4e+18, 1e15, 2e+2, 1.5e+300, 0.5]")
    assert isinstance(value, list)
    assert [type(number) for number in value] == [int, int, int, float, float, float, float]
    assert value[:3] == [10**15, 123_456_789_012_345_680, -4 * 10**18]


def test_aliases_name_what_their_anchor_named_and_keys_may_be_aliases() -> None:
    text = "&key a: &list [1, &two 2]\nb: *list\nc: *two\nd: *key"
    assert parse_document(text) == {"a": [1, 2], "b": [1, 2], "c": 2, "d": "a"}
    assert parse_document("- &k a\n- {*k : 1}") == ["a", {"a": 1}]


def test_an_anchor_may_be_given_again() -> None:
    assert parse_document("- &a 1\n- *a\n- &a 2\n- *a\n") == [1, 1, 2, 2]


def test_explicit_fields_override_merged_ones_and_earlier_merged_ones_later_ones() -> None:
    text = """
        one: &one {a: 1, b: 1, c: 1}
        two: &two {b: 2, d: 2}
        before: {<<: *one, a: 9}
        after: {a: 9, <<: *one}
        both: {<<: [*two, *one], c: 9}
        inline: {<<: {a: 7}, b: 8}
        nested: {<<: {<<: *two, b: 6}}
    """
    value = parse_document(text)
    assert isinstance(value, dict)
    assert value["before"] == value["after"] == {"a": 9, "b": 1, "c": 1}
    assert value["both"] == {"a": 1, "b": 2, "c": 9, "d": 2}
    assert value["inline"] == {"a": 7, "b": 8}
    assert value["nested"] == {"b": 6, "d": 2}
    assert value["one"] == {"a": 1, "b": 1, "c": 1}


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert parse_document('{"<<": 1}') == {"<<": 1}
    assert parse_document("'<<': 1") == {"<<": 1}


TWICE = "is given twice"


def key(found: str) -> str:
    return f"expected strings as keys, found {found}"


def finite(found: str) -> str:
    return f"expected a finite number, found {found}"


def small(found: str) -> str:
    return f'expected an integer of at most 64 bits, found "{found}"'


def untagged(found: str) -> str:
    return f'expected a value without a tag, found "{found}"'


def writable(character: str, found: str) -> str:
    return f'expected text without {character}, found "{found}"'


MERGEABLE = "expected a mapping to merge, or a list of mappings, found"
FINDINGS: list[tuple[str, list[tuple[str, str]]]] = [
    ("a: 1\na: 2", [("a", TWICE)]),
    ("a: {b: [{c: 1, c: 2}], d: 1, d: [1]}\na: 3", [("a.b[0].c", TWICE), ("a.d", TWICE), ("a", TWICE)]),
    ("a: 1\n'a': 2", [("a", TWICE)]),
    ('{"a": 1, "b": {"c": 1, "c": {"x": 1}}, "a": 2}', [("a", TWICE), ("b.c", TWICE)]),
    ('[{"a": {"b": 1, "b": 2}}, {"c": 1, "c": 2}]', [("[0].a.b", TWICE), ("[1].c", TWICE)]),
    ("{<<: {a: 1}, <<: {b: 1}}", [('["<<"]', TWICE)]),
    ("{<<: 1}", [('["<<"]', f"{MERGEABLE} the integer 1")]),
    ("{<<: [{a: 1}, x]}", [('["<<"]', f"{MERGEABLE} a list")]),
    ("1: a\ntrue: b\n~: c", [("", key("the integer 1")), ("", key("true")), ("", key("null"))]),
    ("x: {? [a] : b}", [("x", key("a list"))]),
    ("x: {? {a: 1} : {c: 1, c: 2}}", [("x", key("a mapping")), ("x.c", TWICE)]),
    ("[.nan, -.inf, .INF]", [("[0]", finite(".nan")), ("[1]", finite("-.inf")), ("[2]", finite(".INF"))]),
    ('{"a": NaN, "b": [-Infinity]}', [("a", finite("NaN")), ("b[0]", finite("-Infinity"))]),
    ("a: 1e999", [("a", finite('"1e999"'))]),
    ('{"a": 1e999}', [("a", finite('"1e999"'))]),
    (".nan: 1", [("", finite(".nan"))]),
    ("a: 18446744073709551616", [("a", small("18446744073709551616"))]),
    ('{"a": -9223372036854775809}', [("a", small("-9223372036854775809"))]),
    ("a: 0x10000000000000000", [("a", small("10000000000000000"))]),
    ("a: " + "9" * 100_000, [("a", small("9" * 40 + "…"))]),
    ('{"a": ' + "9" * 100_000 + "}", [("a", small("9" * 40 + "…"))]),
    ("a: !x 1", [("a", untagged("!x"))]),
    ("a: !!binary aGk=", [("a", untagged("tag:yaml.org,2002:binary"))]),
    ("a: !!set {x}", [("a", untagged("tag:yaml.org,2002:set"))]),
    ("a: !!python/name:os {}", [("a", untagged("tag:yaml.org,2002:python/name:os"))]),
    ("a: !!int x", [("a", 'expected a value as its tag "tag:yaml.org,2002:int" says, found the string "x"')]),
    ('a: "\\0"', [("a", writable("U+0000", "\\u0000"))]),
    ('a: "\\ud800"', [("a", writable("U+D800", "\\ud800"))]),
    ('{"a": ["\\u0000"], "b": "x\\udfff"}', [
        ("a[0]", writable("U+0000", "\\u0000")), ("b", writable("U+DFFF", "x\\udfff")),
    ]),
    ('{"\\u0000": 1}', [("", writable("U+0000", "\\u0000"))]),
    ('{"a": {"\\ud800": "\\ud800\\udc00"}}', [("a", writable("U+D800", "\\ud800"))]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FINDINGS, ids=[text[:40] for text, _ in FINDINGS])
def test_everything_that_no_document_may_hold_is_found_at_its_path(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert errors(parse_document, text) == expected


UNREADABLE: list[tuple[bytes | str, str]] = [
    ("", "expected a document, found nothing"),
    ("  \n# only a comment\n", "expected a document, found nothing"),
    ("a: 1\n---\nb: 2", "line 2, column 1: expected one document, found a second"),
    ('{"a": 1} {"b": 2}', "line 1, column 10: expected JSON or YAML: Extra data"),
    ("%YAML 1.1\n---\na: on", "line 2, column 1: expected YAML 1.2, found another version"),
    ("a: [1, 2", "line 1, column 9: expected ',' or ']', but got '<stream end>'"),
    ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
    ('{"a": [}', "line 1, column 8: expected JSON or YAML: Expecting value"),
    ('{"a": 1', "line 1, column 8: expected JSON or YAML: Expecting ',' delimiter"),
    ("a: @b", "line 1, column 4: found character '@' that cannot start any token"),
    ("a: *b", 'line 1, column 4: found no anchor for the alias "b"'),
    ("a: &a [1, *a]", 'line 1, column 11: the alias "a" is inside its own anchor'),
    ("&a {<<: *a}", 'line 1, column 9: the alias "a" is inside its own anchor'),
    ("&a {? *a : 1}", 'line 1, column 7: the alias "a" is inside its own anchor'),
    (b"a: \xff", "expected UTF-8, found the byte 0xff at offset 3"),
    (b"\xff\xfea\x00", "expected UTF-8, found the byte 0xff at offset 0"),
    (b"a: \xc3", "expected UTF-8, found the byte 0xc3 at offset 3"),
    (b"a: \xed\xa0\x80", "expected UTF-8, found the byte 0xed at offset 3"),
    ("a: \ud800", "expected text, found half of a surrogate pair at offset 3"),
    ("a: b\0", "expected text, found U+0000 at offset 4"),
    (b'{"a": "\x00"}', "expected text, found U+0000 at offset 7"),
    ("a: \x07", "the character U+0007 is not allowed"),
    ("%YAML 1.5\n---\na: 1", "expected YAML, found what its parser cannot read (AssertionError)"),
    ("%YAML 2.0\n---\na: 1", "line 1, column 1: found incompatible YAML document"),
    ('"\\UFFFFFFFF"', "expected YAML, found what its parser cannot read (OverflowError)"),
    ("!" + "h" * 1000 + "!x a", "line 1, column 1: "),
]


@pytest.mark.parametrize(("text", "message"), UNREADABLE, ids=[repr(text[:25]) for text, _ in UNREADABLE])
def test_what_cannot_be_read_is_refused_with_one_short_reason(text: bytes | str, message: str) -> None:
    found = errors(parse_document, text)
    assert [path for path, _ in found] == [""]
    assert found[0][1].startswith(message)
    assert len(found[0][1]) < 300


@pytest.mark.parametrize("kind", ["json", "yaml", "bytes", "not ascii"])
def test_a_document_may_have_a_mebibyte_and_no_byte_more(kind: str) -> None:
    start, end = {"json": ('["', '"]'), "yaml": ("a: ", ""), "bytes": ("a: ", ""), "not ascii": ("é: ", "")}[
        kind
    ]
    size = MAX_DOCUMENT_BYTES - len((start + end).encode())
    fits, too_long = (start + "x" * length + end for length in (size, size + 1))

    def given(text: str) -> bytes | str:
        return text.encode() if kind == "bytes" else text

    parse_document(given(fits))
    message = f"expected at most {MAX_DOCUMENT_BYTES} bytes, found {MAX_DOCUMENT_BYTES + 1}"
    assert errors(parse_document, given(too_long))[0][1].startswith(message)


def test_a_caller_may_allow_more_or_less() -> None:
    text = "a: " + "x" * MAX_DOCUMENT_BYTES
    assert parse_document(text, max_bytes=2 * MAX_DOCUMENT_BYTES) == {"a": "x" * MAX_DOCUMENT_BYTES}
    assert errors(lambda raw: parse_document(raw, max_bytes=4), "a: xx") == [
        ("", "expected at most 4 bytes, found 5 or more")
    ]


def test_findings_of_the_document_and_of_the_language_are_listed_together() -> None:
    text = """
        responses:
        - {status: 999, resolution: .nan, distribution: {p50: 1ms, p50: 2ms}}
        diagnostic: 1
        diagnostic: true
        responses: []
        1: 2
    """
    found = errors(load_profile, text)
    assert [path for path, _ in found] == [
        "responses[0].resolution",
        "responses[0].distribution.p50",
        "diagnostic",
        "responses",
        "",
        "responses[0].status",
        "diagnostic",
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: [", "spec"),
        ("a: 1\na: 2\n", "spec.a"),
        ("- 1", "spec"),
        ("", "spec"),
        ("{status: 1}", "spec.status"),
    ],
)
def test_a_given_prefix_begins_every_path(text: str, path: str) -> None:
    def load(raw: Any) -> object:
        return load_profile(raw, path="spec")

    assert path in [found for found, _ in errors(load, text)]
