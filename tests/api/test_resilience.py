"""A store that cannot be written, slow bodies, concurrent writers."""

import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Thread

import httpx

from tests.api.samples import CONFIGURATION, SPEC
from tests.api.serving import RestServer


def test_a_store_that_cannot_be_written_is_503_and_a_halt_works_all_the_same(rest: RestServer) -> None:
    """Reads go on; the halt says what it could not record and what a restarted server would do."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    with closing(sqlite3.connect(rest.database)) as database:
        database.execute("ALTER TABLE revisions RENAME TO gone")
    refused = rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC, "description": "new"})
    assert (refused.status_code, refused.headers["content-type"]) == (503, "application/problem+json")
    assert rest.http.get("/api/v1/profiles/slow").json()["description"] == "Mondays"
    halted = rest.http.post("/api/v1/fleets/edge/halt")
    assert halted.status_code == 200
    assert (halted.json()["halted"], halted.json()["revision"]) == (True, None)
    assert "restarted server" in halted.json()["problem"]
    assert rest.http.get("/api/v1/fleets/edge/nodes").json()["halted"] is True
    with closing(sqlite3.connect(rest.database)) as database:
        database.execute("ALTER TABLE gone RENAME TO revisions")
    assert rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC}).status_code == 200


def test_a_slow_body_does_not_hold_up_others(rest: RestServer) -> None:
    """YAML of some hundred kilobytes is parsed for seconds; meanwhile the server answers."""
    body = "spec:\n" + "".join(f"  key{index}: [1, 2, {{a: b}}]\n" for index in range(5000))
    answers: list[int] = []

    def put() -> None:
        answer = httpx.put(
            f"{rest.url}/api/v1/profiles/slow",
            content=body.encode(),
            headers={"Content-Type": "application/yaml"},
            timeout=120,
        )
        answers.append(answer.status_code)

    thread = Thread(target=put)
    thread.start()
    meanwhile = 0
    while thread.is_alive():
        rest.http.get("/healthz")
        meanwhile += 1
    thread.join()
    assert answers == [422]
    assert meanwhile >= 10


def test_of_writers_at_the_same_revision_one_wins(rest: RestServer) -> None:
    """The others get 412; no change is lost without a word."""
    rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC})

    def put(index: int) -> int:
        body = {"spec": SPEC, "description": str(index)}
        return httpx.put(
            f"{rest.url}/api/v1/profiles/slow", json=body, headers={"If-Match": '"1"'}
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(put, range(16)))
    assert statuses == [200] + [412] * 15
    with ThreadPoolExecutor(8) as pool:
        created = pool.map(
            lambda _: (
                httpx.put(
                    f"{rest.url}/api/v1/profiles/new", json={"spec": SPEC}, headers={"If-None-Match": "*"}
                ).status_code
            ),
            range(16),
        )
        assert sorted(created) == [201] + [412] * 15


def test_a_client_that_leaves_in_the_middle_of_its_body_does_no_harm(rest: RestServer) -> None:
    """It is forgotten, and nothing is stored."""
    host, port = rest.url.removeprefix("http://").split(":")
    head = (
        f"PUT /api/v1/profiles/slow HTTP/1.1\r\nHost: {host}:{port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    for _ in range(5):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + b'{"spec": ')
    assert rest.http.get("/api/v1/profiles").json()["items"] == []
