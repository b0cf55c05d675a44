"""Entity tags and preconditions."""

from dataclasses import dataclass

import pytest

from api.preconditions import Preconditions, parse_tags
from api.problems import Malformed, Stale


@dataclass(frozen=True)
class Thing:
    revision: int


def test_a_list_of_tags_is_read() -> None:
    """Strong and weak tags are told apart."""
    tags = parse_tags("If-Match", ' "1" , W/"2","3"')
    assert tags.strong == {"1", "3"}
    assert tags.weak == {"2"}
    assert not tags.any_tag
    assert parse_tags("If-Match", " * ").any_tag


@pytest.mark.parametrize("value", ["17", '"17', "", '"1" "2"', "'1'", '"1",', "**"])
def test_what_is_no_tag_is_malformed(value: str) -> None:
    """A forgotten quote is an error, not a precondition that never holds."""
    with pytest.raises(Malformed) as caught:
        parse_tags("If-Match", value)
    assert caught.value.errors[0][0] == "If-Match"


def test_without_conditions_a_write_is_unguarded() -> None:
    """Nobody asked for anything."""
    assert Preconditions.read(None, None).guard("thing", Thing(4)) is None
    assert Preconditions.read(None, None).guard("thing", None) is None


@pytest.mark.parametrize("value", ['"4"', "*", '"3", "4"'])
def test_a_condition_that_holds_guards_the_revision_until_the_commit(value: str) -> None:
    """The commit must still find what was compared."""
    assert Preconditions.read(value, None).guard("thing", Thing(4)) == 4


@pytest.mark.parametrize("value", ['"3"', 'W/"4"'])
def test_if_match_with_another_or_a_weak_tag_is_stale(value: str) -> None:
    """If-Match compares strongly (RFC 9110 13.1.1)."""
    with pytest.raises(Stale):
        Preconditions.read(value, None).guard("thing", Thing(4))


def test_if_match_needs_something_there() -> None:
    """`*` too."""
    with pytest.raises(Stale):
        Preconditions.read("*", None).guard("thing", None)


def test_if_none_match_star_only_creates() -> None:
    """Zero stands for nothing there."""
    assert Preconditions.read(None, "*").guard("thing", None) == 0
    with pytest.raises(Stale):
        Preconditions.read(None, "*").guard("thing", Thing(4))


def test_a_reader_that_has_the_revision_is_unchanged() -> None:
    """If-None-Match compares weakly (RFC 9110 13.1.2)."""
    assert Preconditions.read(None, '"3", W/"4"').unchanged(4)
    assert not Preconditions.read(None, '"3"').unchanged(4)
    assert not Preconditions.read(None, None).unchanged(4)
