"""docs/reference/profile.md has every field, and its examples load."""

import re
from pathlib import Path
from typing import Any

import pytest

from brownout import profile
from brownout.profile import load_filter_config, load_profile, load_route_config, parse_document
from brownout.profile.behavior import BEHAVIOR_FIELDS
from brownout.profile.binding import BINDING_FIELDS
from brownout.profile.headers import REQUEST_PSEUDO_HEADERS, RESERVED_HEADERS

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "profile.md").read_text()
EXAMPLES: list[str] = re.findall(r"```(?:yaml|json)\n(.*?)```", REFERENCE, re.DOTALL)

FIELDS = [
    *BEHAVIOR_FIELDS,
    *BINDING_FIELDS,
    *(
        "status",
        "resolution",
        "distribution",
        "local_response",
        "local_response.body",
        "local_response.headers",
    ),
    *("healthy.threshold_in_flight", "tipping_point.threshold_in_flight", "healthy.responses"),
    *("tipping_point.responses", "scope", "grey_zone", "grey_zone.penalty_base", "grey_zone.spike_threshold"),
    *("grey_zone.spike_penalty_duration", "grey_zone.spike_penalty_multiplier", "grey_zone.recovery_rate"),
    *("endpoints", "halted", "endpoints[].match", "endpoints[].match.prefix", "endpoints[].match.exact"),
    *("endpoints[].match.headers", "endpoints[].match.headers[].name"),
    *("endpoints[].match.headers[].exact_match", "endpoints[].match.headers[].present_match"),
]


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_has_a_row(field: str) -> None:
    rows = [line.split("|")[1] for line in REFERENCE.splitlines() if line.startswith("| `")]
    assert any(f"`{field}`" in row for row in rows)


@pytest.mark.parametrize("name", sorted({*RESERVED_HEADERS, *REQUEST_PSEUDO_HEADERS}))
def test_every_special_header_is_named(name: str) -> None:
    assert f"`{name}`" in REFERENCE


@pytest.mark.parametrize(
    "name", [name for name in profile.__all__ if name.startswith(("load", "dump", "parse"))]
)
def test_every_function_is_named(name: str) -> None:
    assert f"`{name}(" in REFERENCE


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_loads(text: str) -> None:
    document: Any = parse_document(text)
    if "typed_per_filter_config" in document:
        config = document["typed_per_filter_config"]["brownout"]["filter_config"]
        load_route_config(config["value"])
    elif "endpoints" in document:
        load_filter_config(text)
    elif document.keys() & set(BINDING_FIELDS):
        load_route_config(text)
    else:
        load_profile(text)


def test_the_first_two_examples_are_the_same_profile() -> None:
    assert load_profile(EXAMPLES[0]) == load_profile(EXAMPLES[1])
