"""profile, upstream, fleet, endpoint: list, show, set, delete."""

import json
from pathlib import Path

import pytest

from tests.api.samples import PROFILE, SPEC
from tests.api.serving import RestServer
from tests.cli.rest.commands import Cli


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """A file with a bare specification."""
    file = tmp_path / "spec.yaml"
    file.write_text(json.dumps(SPEC))
    return str(file)


def test_everything_can_be_set_up_by_command(cli: Cli, spec: str, rest: RestServer) -> None:
    """From nothing to an endpoint with a fault, without a configuration file."""
    assert "profile slow created" in cli.ok("profile", "set", "slow", "-f", spec, "--description", "Mondays")
    assert "upstream payments created" in cli.ok(
        "upstream", "set", "payments", "--host", "127.0.0.1:9000", "--host", "[::1]:9000"
    )
    assert "fleet edge created" in cli.ok("fleet", "set", "edge", "--listener", "http=0.0.0.0:10000")
    assert "endpoint edge/pay created" in cli.ok(
        "endpoint",
        "set",
        "edge/pay",
        "--prefix",
        "/pay",
        "--upstream",
        "payments",
        "--method",
        "GET",
        "--host",
        "a.example",
    )
    cli.ok("fault", "set", "edge/pay", "slow", "--percent", "5")
    assert cli.json("profile", "show", "slow") == PROFILE
    assert [each["address"] for each in cli.json("upstream", "show", "payments")["hosts"]] == [
        "127.0.0.1",
        "::1",
    ]
    listed = cli.ok("endpoint", "list", "edge").splitlines()
    assert listed[0].split() == ["NAME", "MATCH", "UPSTREAM", "FAULT"]
    assert " ".join(listed[1].split()) == "pay GET a.example /pay* payments slow (5 %)"
    assert "http 0.0.0.0:10000" in cli.ok("fleet", "list")
    assert "127.0.0.1:9000" in cli.ok("upstream", "list")
    assert "200, 503" in cli.ok("profile", "list")
    assert rest.service.catalog.revision == 5


def test_setting_some_fields_leaves_the_others(cli: Cli, spec: str) -> None:
    """Above all the fault; exact takes the place of prefix."""
    cli.ok("profile", "set", "slow", "-f", spec)
    cli.ok("upstream", "set", "payments", "--host", "127.0.0.1:9000", "--connect-timeout", "3s")
    cli.ok("fleet", "set", "edge", "--listener", "http=0.0.0.0:10000")
    cli.ok("endpoint", "set", "edge/pay", "--prefix", "/pay", "--upstream", "payments")
    cli.ok("fault", "set", "edge/pay", "slow")
    assert "endpoint edge/pay set" in cli.ok(
        "endpoint", "set", "edge/pay", "--exact", "/pay", "--timeout", "3s"
    )
    shown = cli.json("endpoint", "show", "edge/pay")
    assert (shown["match"]["exact"], shown["match"]["prefix"], shown["timeout"]) == ("/pay", None, "3s")
    assert shown["fault"]["profile"] == "slow"
    cli.ok("upstream", "set", "payments", "--protocol", "http2")
    assert cli.json("upstream", "show", "payments")["connect_timeout"] == "3s"


def test_a_file_replaces_the_whole(cli: Cli, tmp_path: Path) -> None:
    """It cannot be mixed with fields."""
    file = tmp_path / "upstream.yaml"
    file.write_text("hosts: [{address: 10.0.0.7, port: 80}]\n")
    cli.ok("upstream", "set", "payments", "--host", "127.0.0.1:9000", "--protocol", "http2")
    cli.ok("upstream", "set", "payments", "-f", str(file))
    assert cli.json("upstream", "show", "payments")["protocol"] == "http1"
    both = cli.run("upstream", "set", "payments", "-f", str(file), "--protocol", "http2")
    assert (both.exit_code, "not both" in both.stderr) == (2, True)
    neither = cli.run("upstream", "set", "payments")
    assert (neither.exit_code, "--host" in neither.stderr) == (2, True)


def test_endpoints_are_ordered(cli: Cli) -> None:
    """The command names each once."""
    cli.ok("upstream", "set", "payments", "--host", "127.0.0.1:9000")
    cli.ok("fleet", "set", "edge", "--listener", "http=0.0.0.0:10000")
    for name in ("a", "b"):
        cli.ok("endpoint", "set", f"edge/{name}", "--upstream", "payments")
    assert cli.ok("endpoint", "order", "edge", "b", "a") == "edge: b, a\n"
    assert [each["name"] for each in cli.json("endpoint", "list", "edge")] == ["b", "a"]
    refused = cli.run("endpoint", "order", "edge", "b")
    assert (refused.exit_code, "missing: a" in refused.stderr) == (1, True)


def test_what_is_in_use_is_not_deleted(cli: Cli, spec: str) -> None:
    """It says by whom; afterwards it is."""
    cli.ok("profile", "set", "slow", "-f", spec)
    cli.ok("upstream", "set", "payments", "--host", "127.0.0.1:9000")
    cli.ok("fleet", "set", "edge", "--listener", "http=0.0.0.0:10000")
    cli.ok("endpoint", "set", "edge/pay", "--upstream", "payments")
    refused = cli.run("upstream", "delete", "payments")
    assert refused.exit_code == 1
    assert "endpoint edge/pay: uses it" in refused.stderr
    assert cli.ok("endpoint", "delete", "edge/pay") == "endpoint edge/pay deleted\n"
    assert cli.json("upstream", "delete", "payments") == {"deleted": "upstream payments"}
    cli.ok("fleet", "delete", "edge")
    cli.ok("profile", "delete", "slow")
    assert cli.ok("profile", "list") == "no profile is configured\n"


@pytest.mark.parametrize(
    "value", ["payments", "10.0.0.7", ":80", "10.0.0.7:http", "::1:80", "10.0.0.7:65536"]
)
def test_hosts_have_a_port(cli: Cli, value: str) -> None:
    """Code 2 and what was expected."""
    wrong = cli.run("upstream", "set", "payments", "--host", value)
    assert (wrong.exit_code, "HOST:PORT" in wrong.stderr) == (2, True)


def test_lists_of_more_than_a_page_are_whole(cli: Cli, rest: RestServer) -> None:
    """The pages are read one after another."""
    profiles = [{"name": f"p{index:04}", "spec": SPEC} for index in range(1100)]
    rest.http.post("/api/v1/config/apply", json={"profiles": profiles})
    assert [each["name"] for each in cli.json("profile", "list")] == [each["name"] for each in profiles]


def test_certificates_of_a_fleet(cli: Cli) -> None:
    """They are set, kept when something else is, and taken away."""
    names = ("--certificate", "a.example", "--certificate", "*.b.example")
    cli.ok("fleet", "set", "edge", "--mode", "filter", *names)
    assert cli.json("fleet", "show", "edge")["certificates"] == ["a.example", "*.b.example"]
    both = cli.run("fleet", "set", "edge", "--certificate", "a.example", "--any-certificate")
    assert (both.exit_code, "not both" in both.stderr) == (2, True)
    cli.ok("fleet", "set", "edge", "--any-certificate")
    assert cli.json("fleet", "show", "edge")["certificates"] == []


def test_a_mistake_is_named_where_it_stands_in_the_file(cli: Cli, tmp_path: Path) -> None:
    """A bare specification has no `spec`, a profile has."""
    file = tmp_path / "slow.yaml"
    wrong = {**SPEC, "seed": "x"}
    for document, place in ((wrong, "seed"), ({"spec": wrong}, "spec.seed")):
        file.write_text(json.dumps(document))
        refused = cli.run("profile", "set", "slow", "-f", str(file))
        assert (refused.exit_code, f"\n  {place}: expected an integer" in refused.stderr) == (1, True)
