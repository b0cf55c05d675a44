"""status, halt, resume, and servers that are none."""

import http.server
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.samples import CONFIGURATION
from tests.api.serving import RestServer
from tests.cli.rest.commands import Cli
from tests.support.waiting import free_port


def _rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_status_shows_fleets_and_nodes(cli: Cli, rest: RestServer) -> None:
    """How far each is, what it acknowledged, and what it rejected and why."""
    assert cli.ok("status") == "no fleet is configured\n"
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    rest.http.put("/api/v1/fleets/edge/endpoints/pay/fault", json={"profile": "slow"})
    rest.nodes.revision = 6
    rows = _rows(cli.ok("status"))
    assert rows[1] == ["edge", "gateway", "2", "1", "0", "6", "no", "node", "connected"]
    rest.nodes.put("edge", "a", 6)
    rest.nodes.put("edge", "b", 5)
    shown = cli.ok("status")
    assert _rows(shown)[1][-4:] == ["1", "of", "2", "current"]
    assert ["a", "edge", "1.40.0", "yes", "2030-01-31T12:00:00Z", "rds@6"] in _rows(shown)
    rest.nodes.put("edge", "b", 5, rejected=True)
    rejected = cli.ok("status", "edge")
    assert "1 rejecting" in rejected
    assert (
        "edge/b rejected RDS at 2030-01-31T12:00:00Z: Failed to initialize\n  routes[0]: no such profile"
        in rejected
    )
    rest.nodes.put("edge", "b", 6)
    assert _rows(cli.ok("status"))[1][-1] == "converged"
    rest.nodes.keep_out("edge", "c", "its certificate is another's")
    shown = cli.ok("status")
    assert ["c", "edge", "?", "refused", "2030-01-31T12:00:00Z"] in _rows(shown)
    assert "edge/c is kept out since 2030-01-31T12:00:00Z: its certificate is another's" in shown


def test_status_as_json(cli: Cli, rest: RestServer) -> None:
    """Fleets and nodes, as REST shows them, with counts."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    rest.nodes.revision = 5
    rest.nodes.put("edge", "a", 6)
    shown = cli.json("status")
    assert shown["fleets"] == [
        {
            "fleet": "edge",
            "halted": False,
            "revision": 5,
            "nodes": 1,
            "current": 1,
            "rejecting": 0,
            "converged": True,
            "mode": "gateway",
            "endpoints": 2,
            "faults": 0,
        }
    ]
    assert [each["id"] for each in shown["nodes"]] == ["a"]
    assert cli.run("status", "nope").exit_code == 1


def test_status_shows_what_is_damaged(tmp_path: Path) -> None:
    """With what is wrong with it."""
    with RestServer(tmp_path) as rest:
        rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    with closing(sqlite3.connect(rest.database)) as database, database:
        database.execute("UPDATE upstreams SET document = '5'")
    with RestServer(tmp_path) as rest:
        shown = Cli(rest.url).ok("status")
        assert Cli(rest.url).json("status")["damaged"][-1]["kind"] == "upstream"
    name = CONFIGURATION["upstreams"][0]["name"]
    assert f"upstream {name} is damaged and left out\n  expected a mapping" in shown
    assert "upstream: there is no upstream" in shown


def test_halt_and_resume(cli: Cli, rest: RestServer) -> None:
    """One fleet or all; status shows it."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    assert cli.ok("halt", "edge") == "fleet edge: halted, nothing is injected\n"
    assert "halted" in cli.ok("status")
    assert cli.ok("resume", "edge") == "fleet edge: not halted\n"
    assert cli.json("halt")["key"] == "*"
    assert cli.run("resume", "edge").exit_code == 1
    assert cli.ok("resume") == "all fleets: not halted\n"


def test_halt_waits_and_warns(cli: Cli, rest: RestServer) -> None:
    """For its fleet or all of them; what could not be recorded is said."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    rest.nodes.revision = 6
    rest.nodes.put("edge", "a", 6)
    halted = cli.run("halt", "edge", "--wait")
    assert (halted.exit_code, "edge: 1 of 1 nodes have it" in halted.stderr) == (0, True)
    rest.nodes.revision = 7
    assert cli.run("resume", "--wait", "--within", "100ms").exit_code == 4
    with closing(sqlite3.connect(rest.database)) as database:
        database.execute("ALTER TABLE revisions RENAME TO gone")
    warned = cli.run("halt")
    assert warned.exit_code == 0
    assert "warning: " in warned.stderr
    assert "not recorded" in warned.stderr


def test_no_server_is_code_3_and_says_where_it_looked() -> None:
    """And how to start one."""
    server = f"http://127.0.0.1:{free_port()}"
    failed = Cli(server).run("status")
    assert failed.exit_code == 3
    assert server in failed.stderr
    assert "brownout up" in failed.stderr
    assert "--server" in failed.stderr
    assert Cli("http://").run("status").exit_code == 3
    assert Cli("nonsense").run("fault", "clear", "edge/pay").exit_code == 3


def test_another_server_is_code_3() -> None:
    """Something answers there, and is no Brownout."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as other:
        other.RequestHandlerClass.log_message = lambda *_: None  # type: ignore[attr-defined]
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        failed = Cli(f"http://127.0.0.1:{other.server_port}").run("status")
        other.shutdown()
        thread.join()
    assert failed.exit_code == 3
    assert "is not a Brownout server" in failed.stderr


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Something that answers every request with the same JSON."""

    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_PUT = do_DELETE = do_POST = do_GET  # noqa: N815 (the library's names)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'{"path": "/", "items": [{}], "next": null}', b""])
def test_a_server_that_speaks_json_too_is_code_3(body: bytes, tmp_path: Path) -> None:
    """Whatever the command: `--server` may name an Envoy with a backend behind it."""
    handler = type("Handler", (Elsewhere,), {"body": body})
    (tmp_path / "file").write_text("{}")
    commands = [
        ("status",),
        ("fault", "set", "edge/pay", "slow"),
        ("fault", "clear", "edge/pay"),
        ("halt",),
        ("apply", "-f", str(tmp_path / "file")),
        ("profile", "set", "slow", "-f", str(tmp_path / "file")),
        ("endpoint", "list", "edge"),
        ("endpoint", "order", "edge", "pay"),
        ("upstream", "set", "u", "--host", "10.0.0.7:80"),
    ]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        cli = Cli(f"http://127.0.0.1:{other.server_port}")
        codes = {command: cli.run(*command).exit_code for command in commands}
        other.shutdown()
        thread.join()
    assert codes == dict.fromkeys(commands, 3)


def test_the_option_goes_before_the_environment(rest: RestServer) -> None:
    """`--server` says where."""
    assert Cli(f"http://127.0.0.1:{free_port()}").run("status", "--server", f"{rest.url}/").exit_code == 0
