"""Pages of lists that the API cuts itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.paging import Page
from api.problems import Invalid


@given(st.sets(st.text(max_size=5)), st.integers(1, 7))
def test_all_pages_together_are_the_list(names: set[str], limit: int) -> None:
    """Nothing is left out or told twice, and the last page has no cursor."""
    items = sorted(names)
    seen: list[str] = []
    cursor = None
    while True:
        page, cursor = Page(limit, cursor).of_sorted(items, str)
        assert len(page) <= limit
        seen += page
        if cursor is None:
            break
    assert seen == items


def test_a_page_goes_on_where_a_removed_item_was() -> None:
    """The cursor is a place in the order, not an item."""
    _, cursor = Page(2).of_sorted(["a", "b", "c", "d"], str)
    assert list(Page(2, cursor).of_sorted(["a", "c", "d"], str)[0]) == ["c", "d"]


@pytest.mark.parametrize("cursor", ["%", "ä", "!!!!", "_w"])
def test_a_cursor_of_something_else_is_invalid(cursor: str) -> None:
    """It names the parameter."""
    with pytest.raises(Invalid) as caught:
        Page(2, cursor).of_sorted(["a"], str)
    assert caught.value.errors[0][0] == "cursor"
