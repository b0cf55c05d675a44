"""What an export prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.writing import prefers_json, to_yaml
from brownout.profile import parse_document

# Names and values of a configuration: text without NUL (no document may have it).
_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT
_VALUES = st.recursive(
    _SCALARS
    | st.sampled_from(["on", "no", "1e3", "0x1f", "12:30:00", "2030-01-31", "~", "null", "1_000", "=", "<<"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXT, _VALUES, max_size=4))
def test_what_is_written_is_read_back_the_same(content: dict[str, object]) -> None:
    """No string becomes a boolean, a number or a date on the way."""
    assert parse_document(to_yaml(content)) == content


def test_keys_keep_their_order_and_stand_on_lines_of_their_own() -> None:
    """It is for people and for version control."""
    assert to_yaml({"b": 1, "a": ["x", {"z": "1s", "y": None}]}) == b"b: 1\na:\n- x\n- z: 1s\n  y: null\n"


@pytest.mark.parametrize(
    ("accept", "json"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", True),
        ("application/yaml, application/json", False),
        ("application/yaml;q=0.5, application/json", True),
        ("text/yaml;q=0.9, application/json;q=nonsense", False),
    ],
)
def test_yaml_is_the_default(accept: str, json: bool) -> None:
    """JSON only where it is preferred."""
    assert prefers_json(accept) == json
