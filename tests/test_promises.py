"""docs/reference/specification.md maps every statement of the specification to tests that are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "reference" / "specification.md").read_text()

ENDPOINT = "endpoints[]."
RESPONSE = f"{ENDPOINT}responses[]."
# What the specification's tables have rows for.
SUBJECTS = {
    "Configuration fields": [
        "endpoints",
        *(f"{ENDPOINT}match{name}" for name in ("", ".prefix", ".exact", ".headers")),
        f"{ENDPOINT}responses",
        *(f"{RESPONSE}{name}" for name in ("status", "resolution", "distribution", "local_response")),
        *(f"{RESPONSE}local_response.{name}" for name in ("body", "headers")),
        *(f"{ENDPOINT}load_based{name}" for name in ("", ".healthy", ".tipping_point", ".grey_zone")),
        "diagnostic",
        "probability_distribution",
    ],
    "Percentile keys": [
        f"p{value}"
        for value in [
            "0.0",
            "25.0",
            "50.0",
            "75.0",
            "90.0",
            "95.0",
            "99.0",
            "99.9",
            "99.99",
            "100.0",
            "<value>",
        ]
    ],
    "Grey zone configuration": [
        "penalty_base",
        "spike_threshold",
        "spike_penalty_duration",
        "spike_penalty_multiplier",
        "recovery_rate",
    ],
    "Response headers": [
        f"x-fault-{name}"
        for name in (
            "injected-delay",
            "actual-upstream",
            "added-delay",
            "requests-in-flight",
            "worker-index",
            "injected",
            "status",
            "upstream-status",
        )
    ],
}
# How many numbered statements and bullets the parts of "How it works" have.
STATEMENTS = {
    "Status code selection": 2,
    "Latency distribution": 3,
    "Load-based behavior": 3,
    "Grey zone transitions": 5,
}


def rows(page: str) -> list[tuple[str, list[str]]]:
    """Every table row as its heading and its cells; heads and rules left out."""
    found = []
    heading, lines = "", page.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith("|---") and not following.startswith("|---"):
            found.append((heading, [cell.strip() for cell in line.strip("|").split(" | ")]))
    return found


ROWS = rows(PAGE)


@cache
def defined_in(file: Path) -> dict[str, bool]:
    """The names of a file's tests, each with whether it is only run on demand."""
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    return {
        node.name: any(ast.unparse(decorator) == "pytest.mark.slow" for decorator in node.decorator_list)
        for node in functions
    }


@pytest.mark.parametrize(("heading", "cells"), ROWS, ids=[" | ".join(cells[:-1])[:60] for _, cells in ROWS])
def test_every_row_names_tests_of_the_normal_run(heading: str, cells: list[str]) -> None:
    """A row has a statement and at least one test; each test it names exists and is not a slow one."""
    *statement, tests = cells
    assert statement[-1]
    named = tests.split(", ")
    for name in named:
        reference = re.fullmatch(r"`(\w+/\w+\.py)::(test_\w+)`", name)
        assert reference, name
        file, test = reference.groups()
        assert defined_in(TESTS / file).get(test) is False, name


@pytest.mark.parametrize("heading", SUBJECTS)
def test_every_subject_has_a_row(heading: str) -> None:
    """No field, key or header of the specification is left out."""
    subjects = {cells[0].strip("`") for at, cells in ROWS if at == heading}
    assert subjects - {"all"} == set(SUBJECTS[heading])


@pytest.mark.parametrize("heading", STATEMENTS)
def test_every_numbered_statement_has_a_row(heading: str) -> None:
    """Neither is a step or a bullet of how it works."""
    marks = [cells[0].strip("| ") for at, cells in ROWS if at == heading]
    numbers = {mark for mark in marks if mark.isdigit()}
    if numbers:
        assert numbers == {str(n + 1) for n in range(STATEMENTS[heading])}
    else:
        assert marks.count("•") == STATEMENTS[heading]
