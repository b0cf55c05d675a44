"""apply, plan, export."""

import json
from pathlib import Path

import pytest

from api.writing import to_yaml
from tests.api.samples import CONFIGURATION, SPEC
from tests.api.serving import RestServer
from tests.cli.rest.commands import Cli


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The configuration in two files, one YAML, one JSON."""
    profiles, fleets = tmp_path / "profiles.yaml", tmp_path / "fleets.json"
    profiles.write_bytes(to_yaml({"profiles": CONFIGURATION["profiles"]}))
    fleets.write_text(json.dumps({key: CONFIGURATION[key] for key in ("upstreams", "fleets")}))
    return ["-f", str(profiles), "-f", str(fleets)]


def test_plan_then_apply_then_nothing(cli: Cli, rest: RestServer, files: list[str]) -> None:
    """A plan shows what an apply does; applying again changes nothing."""
    planned = cli.ok("plan", *files)
    assert "+ endpoint edge/pay" in planned
    assert "would change: 5 create" in planned
    assert rest.service.catalog.revision == 0
    assert "revision 5: 5 create" in cli.ok("apply", *files)
    assert cli.ok("apply", *files) == "nothing to change\n"
    assert cli.json("plan", *files) == {"revision": 5, "changes": []}


def test_an_update_shows_what_differs(cli: Cli, tmp_path: Path, files: list[str]) -> None:
    """Field by field; a deletion only with --prune."""
    cli.ok("apply", *files)
    changed = tmp_path / "changed.yaml"
    changed.write_bytes(
        to_yaml(
            {
                "profiles": [
                    {"name": "quick", "spec": SPEC},
                    {**CONFIGURATION["profiles"][0], "description": "new"},
                ]
            }
        )
    )
    said = cli.ok("apply", "-f", str(changed))
    assert "~ profile slow\n    description: Mondays → new\n" in said
    pruned = cli.ok("plan", *files, "--prune")
    assert "- profile quick" in pruned


def test_standard_input_is_a_file_too(cli: Cli) -> None:
    """An export applied changes nothing."""
    cli.ok("apply", "-f", "-", text=json.dumps(CONFIGURATION))
    exported = cli.ok("export")
    assert cli.ok("apply", "-f", "-", "--prune", text=exported) == "nothing to change\n"
    assert cli.json("export")["profiles"] == CONFIGURATION["profiles"]


def test_errors_name_the_file_and_the_place_in_it(cli: Cli, tmp_path: Path, files: list[str]) -> None:
    """Although several files are sent as one."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        "profiles:\n- name: bad\n  spec: {responses: [{status: 1, resolution: 1, distribution: {p50: 1s}}]}\n"
    )
    refused = cli.run("apply", *files, "-f", str(wrong))
    assert refused.exit_code == 1
    assert f"{wrong}: profiles[0].spec.responses[0].status: " in refused.stderr


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("profiles: [", 1, "not one well-formed document"),
        ("[]", 1, "expected a mapping"),
        ("profile: []", 1, "profile: unknown field"),
        ("profiles: 5", 1, "profiles: "),
        (None, 2, "cannot read"),
    ],
)
def test_files_that_are_no_configuration(
    cli: Cli, tmp_path: Path, content: str | None, code: int, says: str
) -> None:
    """One clear message, nothing applied."""
    file = tmp_path / "file.yaml"
    if content is not None:
        file.write_text(content)
    refused = cli.run("apply", "-f", str(file))
    assert refused.exit_code == code
    assert says in refused.stderr


def test_apply_waits_for_the_fleets_that_it_concerns(cli: Cli, rest: RestServer, files: list[str]) -> None:
    """All of them when a profile or an upstream changed."""
    rest.nodes.revision = 5
    waited = cli.run("apply", *files, "--wait", "--within", "5s")
    assert waited.exit_code == 0
    assert "edge: no node is connected" in waited.stderr
    endpoint = {**CONFIGURATION["fleets"][0]["endpoints"][0], "timeout": "1s"}
    rest.http.put("/api/v1/fleets/edge/endpoints/pay", json=endpoint)
    rest.nodes.revision = 7
    rest.nodes.put("edge", "a", 6)
    late = cli.run("apply", *files, "--wait", "--within", "100ms")
    assert late.exit_code == 4
    assert "edge: 0 of 1 nodes have it" in late.stderr
