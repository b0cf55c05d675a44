"""Faults: deadlines and the nodes that inject."""

from datetime import UTC, datetime
from typing import Any

import pytest

from brownout.domain import NodeSelector, ValidationFailed
from brownout.domain.fault import with_deadline

NOW = datetime(2030, 1, 31, 18, tzinfo=UTC)


def test_for_becomes_a_deadline() -> None:
    """Counted from now, to the microsecond."""
    assert with_deadline({"profile": "p", "for": "1h0.5s"}, NOW) == {
        "profile": "p",
        "expires_at": "2030-01-31T19:00:00.500000Z",
    }
    assert with_deadline({"for": "1m", "expires_at": None}, NOW) == {"expires_at": "2030-01-31T18:01:00Z"}


def test_without_for_nothing_changes() -> None:
    """The caller's document is left alone either way."""
    document = {"for": "1m"}
    with_deadline(document, NOW)
    assert document == {"for": "1m"}
    assert with_deadline({"percent": 1}, NOW) == {"percent": 1}


@pytest.mark.parametrize("value", ["", "10", "-1m", "0s", 10, None, ["1m"]])
def test_what_is_no_duration_above_zero_is_refused(value: Any) -> None:
    """At its path."""
    with pytest.raises(ValidationFailed) as caught:
        with_deadline({"for": value}, NOW, path="fault")
    assert [each.path for each in caught.value.errors] == ["fault.for"]


def test_a_deadline_after_the_last_year_is_refused() -> None:
    """It is what the filter's clock can say; the longest duration leads beyond it."""
    with pytest.raises(ValidationFailed, match="for: is too far in the future: expected at most 2261"):
        with_deadline({"for": "2562047h"}, NOW)
    assert with_deadline({"for": "2000000h"}, NOW)["expires_at"].startswith("2258-")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"ids": ["a", "b"]}, True),
        ({"ids": ["b"]}, False),
        ({"locality": {"region": "eu"}}, True),
        ({"locality": {"region": "eu", "zone": "2"}}, False),
        ({"locality": {"sub_zone": "x"}}, False),
        ({"metadata": {"tier": "canary"}}, True),
        ({"metadata": {"tier": "canary", "weight": 1}}, True),
        ({"metadata": {"weight": True}}, False),
        ({"metadata": {"on": True}}, True),
        ({"metadata": {"on": 1}}, False),
        ({"metadata": {"gone": "x"}}, False),
        ({"ids": ["a"], "locality": {"region": "us"}}, False),
        ({"ids": ["a"], "locality": {"region": "eu"}, "metadata": {"on": True}}, True),
    ],
)
def test_everything_that_a_selector_says_must_hold(selector: dict[str, Any], *, expected: bool) -> None:
    """A number is equal to the double that Envoy makes of it; true is no number."""
    metadata = {"tier": "canary", "weight": 1.0, "on": True}
    found = NodeSelector.load(selector).matches("a", {"region": "eu", "zone": "1"}, metadata)
    assert found is expected


@pytest.mark.parametrize(
    "selector", [{}, {"ids": []}, {"locality": {}}, {"locality": {"region": None}, "metadata": {}}]
)
def test_a_selector_that_selects_everything_is_refused(selector: dict[str, Any]) -> None:
    """It is likelier a mistake; null says it plainly."""
    with pytest.raises(ValidationFailed, match="null means every node"):
        NodeSelector.load(selector)
