"""Server-sent events over a real connection."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from api.events import Event, EventStreams
from tests.api.samples import CONFIGURATION, SPEC
from tests.api.serving import RestServer
from tests.support.waiting import wait_until


class Reader:
    """One open stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def next(self) -> dict[str, Any]:
        """The next event: `event`, `data` (parsed), and `id` when it has one."""
        found: dict[str, Any] = {}
        for line in self._lines:
            if not line and found:
                found["data"] = json.loads(found["data"])
                return found
            name, _, value = line.partition(": ")
            if name:
                found[name] = value
        raise EOFError

    def until(self, name: str) -> dict[str, Any]:
        """The data of the next event of a name."""
        while (event := self.next())["event"] != name:
            pass
        data: dict[str, Any] = event["data"]
        return data


@contextmanager
def _following(rest: RestServer, query: str = "", **headers: str) -> Iterator[Reader]:
    with rest.http.stream("GET", f"/api/v1/events{query}", headers=headers, timeout=10) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Reader(answer)


def test_revisions_are_told_as_they_are_committed(rest: RestServer) -> None:
    """After a hello with the present revision; each has its number as id."""
    rest.http.put("/api/v1/profiles/one", json={"spec": SPEC})
    with _following(rest) as reader:
        assert reader.next() == {"event": "hello", "data": {"revision": 1}}
        httpx.put(f"{rest.url}/api/v1/profiles/two", json={"spec": SPEC})
        event = reader.next()
        assert (event["event"], event["id"]) == ("revision", "2")
        assert (event["data"]["key"], event["data"]["action"]) == ("two", "create")


def test_a_reader_that_comes_back_misses_nothing(rest: RestServer) -> None:
    """`Last-Event-ID` is a revision; more than a page of them are told in order."""
    profiles = [{"name": f"p{index}", "spec": SPEC} for index in range(120)]
    rest.http.post("/api/v1/config/apply", json={"profiles": profiles})
    with _following(rest, **{"Last-Event-ID": "7"}) as reader:
        assert reader.next()["event"] == "hello"
        assert [int(reader.next()["id"]) for _ in range(113)] == list(range(8, 121))
    for malformed in ("x", "-1", "9" * 5000):
        refused = rest.http.get("/api/v1/events", headers={"Last-Event-ID": malformed})
        assert refused.status_code == 400


def test_a_reader_that_was_further_is_told_what_comes(rest: RestServer) -> None:
    """The store may have been restored since, from before what it saw."""
    with _following(rest, **{"Last-Event-ID": "999"}) as reader:
        reader.until("hello")
        rest.http.put("/api/v1/profiles/slow", json={"spec": SPEC})
        assert reader.until("revision")["number"] == 1


def test_nodes_and_the_progress_of_fleets_are_told(rest: RestServer) -> None:
    """What a node did, then how far its fleet is."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    with _following(rest) as reader:
        reader.until("hello")
        rest.nodes.revision = 6
        rest.soon(lambda: rest.nodes.put("edge", "a", 6))
        node = reader.until("node")
        assert (node["kind"], node["node"]["id"]) == ("acknowledged", "a")
        assert reader.until("fleet")["converged"] is True


def test_a_halt_is_told_at_once(rest: RestServer) -> None:
    """As the fleet's progress, which says that it is halted."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    with _following(rest) as reader:
        while reader.until("fleet")["halted"]:
            pass
        httpx.post(f"{rest.url}/api/v1/halt")
        while not reader.until("fleet")["halted"]:
            pass


def test_one_fleet_may_be_followed(rest: RestServer) -> None:
    """Others' nodes and endpoints are left out; profiles may concern it."""
    rest.http.post("/api/v1/config/apply", json=CONFIGURATION)
    other = {"name": "http", "address": "127.0.0.1", "port": 10001}
    assert rest.http.put("/api/v1/fleets/other", json={"listeners": [other]}).status_code == 201
    with _following(rest, "?fleet=edge") as reader:
        reader.until("hello")
        rest.soon(lambda: rest.nodes.put("other", "x", 1))
        assert httpx.post(f"{rest.url}/api/v1/fleets/other/halt").status_code == 200
        httpx.put(f"{rest.url}/api/v1/profiles/two", json={"spec": SPEC})
        assert reader.until("revision")["key"] == "two"
        rest.soon(lambda: rest.nodes.put("edge", "y", 1))
        assert reader.until("node")["node"]["id"] == "y"
        assert reader.until("fleet")["fleet"] == "edge"
    assert rest.http.get("/api/v1/events?fleet=nope").status_code == 404


def test_streams_end_when_they_are_told_to(rest: RestServer) -> None:
    """So that a server with readers stops at once; nothing of a stream is left."""
    with _following(rest) as reader:
        reader.until("hello")
        assert rest.app.streams.open == 1
        rest.soon(rest.app.streams.end)
        began = time.monotonic()
        with pytest.raises(EOFError):
            reader.until("never")
        assert time.monotonic() - began < 5
    wait_until(lambda: rest.app.streams.open == 0)


def test_a_reader_that_leaves_leaves_nothing_behind(rest: RestServer) -> None:
    """Its tasks and subscriptions go with it."""
    for _ in range(20):
        with _following(rest) as reader:
            reader.until("hello")
    wait_until(lambda: rest.app.streams.open == 0)

    async def tasks() -> int:
        await asyncio.sleep(0)
        return sum("_pump" in repr(task) or "_disconnected" in repr(task) for task in asyncio.all_tasks())

    wait_until(lambda: rest.run(tasks) == 0)


def test_head_of_events_ends(rest: RestServer) -> None:
    """It would wait for ever otherwise."""
    assert rest.http.head("/api/v1/events").status_code == 200
    assert rest.app.streams.open == 0


async def test_silence_is_broken_by_comments() -> None:
    """So that proxies keep the connection; a feed that fails ends the stream."""
    sent: list[bytes] = []
    fail = asyncio.Event()

    async def feed() -> AsyncIterator[Event]:
        yield Event("hello", {"text": "a\nb"}, id=3)
        await fail.wait()
        raise RuntimeError

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: Any) -> None:
        sent.append(message["body"])
        if len(sent) == 3:
            fail.set()

    await EventStreams(keepalive=0.01).serve([feed], receive, send)
    assert sent[0] == b'event: hello\ndata: {"text": "a\\nb"}\nid: 3\n\n'
    assert sent[1:3] == [b": still here\n\n"] * 2
    assert sent[-1] == b""
