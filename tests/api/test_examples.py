"""The examples of docs/reference/rest.md are accepted as they stand."""

import re
from pathlib import Path
from typing import Any

from brownout.profile import parse_document
from tests.api.serving import RestServer

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"


def _example(section: str) -> Any:
    """The first indented block of a section, parsed."""
    text = DOCS.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    block = re.search(r"(?:^ {4}.*\n)+", text, re.MULTILINE)
    assert block is not None
    return parse_document(re.sub(r"^ {4}", "", block[0], flags=re.MULTILINE))


def test_the_examples_make_a_working_configuration(rest: RestServer) -> None:
    """Profile, upstream, fleet and endpoint, in the order of the page."""
    profile, upstream = _example("Profiles"), _example("Upstreams")
    fleet, endpoint = _example("Fleets"), _example("Endpoints and faults")
    for path, body in (
        ("profiles", profile),
        ("upstreams", upstream),
        ("fleets", fleet),
        (f"fleets/{fleet['name']}/endpoints", endpoint),
    ):
        answer = rest.http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 201, answer.text
        shown = answer.json()
        assert all(shown[key] == value for key, value in body.items() if isinstance(value, str))
    fault = rest.http.get(f"/api/v1/fleets/{fleet['name']}/endpoints/{endpoint['name']}/fault").json()
    assert endpoint["fault"].items() <= fault.items()
