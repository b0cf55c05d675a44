"""The daily act, and waiting for it."""

import re
from collections.abc import Iterator
from threading import Timer

import pytest

from tests.api.samples import CONFIGURATION
from tests.api.serving import RestServer
from tests.cli.rest.commands import Cli

FAULT = "/api/v1/fleets/edge/endpoints/pay/fault"


@pytest.fixture(autouse=True)
def edge(rest: RestServer) -> Iterator[None]:
    """A configured fleet, at revision 5."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    return iter(())


def test_a_fault_is_set_and_cleared(cli: Cli, rest: RestServer) -> None:
    """What was done is said in one line."""
    said = cli.ok(
        "fault", "set", "edge/pay", "slow", "--percent", "20", "--for", "10m", "--node", "a", "--no-headers"
    )
    assert said.startswith("edge/pay injects slow for 20 % of the requests until 20")
    fault = rest.http.get(FAULT).json()
    assert (fault["percent"], fault["headers"], fault["nodes"]["ids"]) == (20, False, ["a"])
    assert fault["expires_at"]
    assert cli.ok("fault", "set", "edge/pay", "slow") == "edge/pay injects slow\n"
    assert cli.ok("fault", "clear", "edge/pay") == "edge/pay injects nothing\n"
    assert rest.http.get(FAULT).status_code == 404


def test_json_is_what_rest_says(cli: Cli, rest: RestServer) -> None:
    """The fault; the endpoint without it."""
    assert cli.json("fault", "set", "edge/pay", "slow") == rest.http.get(FAULT).json()
    assert cli.json("fault", "clear", "edge/pay") == rest.http.get("/api/v1/fleets/edge/endpoints/pay").json()


def test_a_refusal_is_a_list_of_places_and_code_1(cli: Cli) -> None:
    """Every complaint of the server with its path; as JSON the problem itself."""
    refused = cli.run("fault", "set", "edge/pay", "nope", "--percent", "101")
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert "  percent: " in refused.stderr
    missing = cli.run("fault", "set", "edge/pya", "slow", "--json")
    assert missing.exit_code == 1
    assert '"status": 404' in missing.stderr
    assert "edge/pay" in missing.stderr


@pytest.mark.parametrize("where", ["edge", "edge/", "/pay", "edge/pay/x"])
def test_an_endpoint_is_named_with_its_fleet(cli: Cli, where: str) -> None:
    """Anything else is wrong usage: code 2."""
    wrong = cli.run("fault", "set", where, "slow")
    assert wrong.exit_code == 2
    assert "FLEET/ENDPOINT" in wrong.stderr


def test_wait_ends_when_every_node_has_it(cli: Cli, rest: RestServer) -> None:
    """Not before the control plane knows the revision, nor before the last node."""
    rest.nodes.revision = 5
    rest.nodes.put("edge", "a", 5)

    def acknowledge() -> None:
        rest.nodes.revision = 6
        rest.nodes.put("edge", "a", 6)

    timer = Timer(0.5, lambda: rest.soon(acknowledge))
    timer.start()
    waited = cli.run("fault", "set", "edge/pay", "slow", "--wait")
    timer.join()
    assert waited.exit_code == 0
    assert "edge: 1 of 1 nodes have it" in waited.stderr
    assert waited.stdout == "edge/pay injects slow\n"


def test_wait_without_nodes_succeeds_and_says_so(cli: Cli, rest: RestServer) -> None:
    """There is nobody to wait for."""
    rest.nodes.revision = 6
    waited = cli.run("fault", "set", "edge/pay", "slow", "--wait")
    assert waited.exit_code == 0
    assert "no node is connected" in waited.stderr


def test_wait_gives_up_with_code_4(cli: Cli, rest: RestServer) -> None:
    """The change stays; it says who has it."""
    rest.nodes.revision = 6
    rest.nodes.put("edge", "a", 6)
    rest.nodes.put("edge", "b", 5)
    waited = cli.run("fault", "set", "edge/pay", "slow", "--wait", "--within", "300ms")
    assert waited.exit_code == 4
    assert "edge: 1 of 2 nodes have it" in waited.stderr
    assert rest.http.get(FAULT).status_code == 200


def test_wait_ends_at_a_rejection_with_code_5(cli: Cli, rest: RestServer) -> None:
    """It says who rejected what, and what Brownout finds in it, without waiting for the time to pass."""
    rest.nodes.revision = 6
    rest.nodes.put("edge", "a", 5, rejected=True)
    waited = cli.run("fault", "set", "edge/pay", "slow", "--wait", "--within", "100s")
    assert waited.exit_code == 5
    assert "a rejected RDS: routes[0]: no such profile" in waited.stderr


def test_a_time_that_is_none_is_wrong_usage(cli: Cli, rest: RestServer) -> None:
    """Before anything is sent."""
    assert cli.run("fault", "set", "edge/pay", "slow", "--wait", "--within", "soon").exit_code == 2
    assert rest.http.get(FAULT).status_code == 404


def test_times_are_shown_to_the_second(cli: Cli) -> None:
    """A table has no room for more; JSON has all of it."""
    shown = cli.ok("fault", "set", "edge/pay", "slow", "--for", "10m")
    assert re.search(r" until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", shown.strip())
    assert re.search(r"\(until \S+:\d\dZ\)", cli.ok("endpoint", "list", "edge"))
