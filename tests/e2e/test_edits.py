"""A REST edit changes what a running Envoy injects."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stack import Stack, constant, endpoint, running
from tests.support import wait_until
from tests.support.load import Answer, Flow, get, get_many

IN_FLIGHT = 1_000


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    profiles = {"pay": constant((200, "5s")), "many": constant((500, "1ms"))}
    endpoints = [endpoint("pay", "/pay", "pay"), endpoint("many", "/many", "many"), endpoint("rest", "/")]
    with running(tmp_path_factory.mktemp("edits"), profiles=profiles, endpoints=endpoints) as stack:
        yield stack


async def at_once(stack: Stack, path: str) -> Answer | None:
    """The answer to a request, unless it is held."""
    try:
        return await asyncio.wait_for(get(stack.address, path), 0.1)
    except TimeoutError:
        return None


async def test_edit_while_requests_are_held(stack: Stack) -> None:
    """Within a second of a PUT the same Envoy injects the new profile; 1,000 held requests are untouched."""
    pid = stack.envoy.pid
    held = asyncio.create_task(get_many(stack.address, "/pay", IN_FLIGHT))
    await asyncio.to_thread(stack.upstream.wait_for, lambda upstream: upstream.counts["/pay"] == IN_FLIGHT)

    await asyncio.to_thread(stack.set_profile, "pay", constant((503, "20ms")))
    committed = time.monotonic()
    while (answer := await at_once(stack, "/pay")) is None:
        assert time.monotonic() - committed < 1
    assert answer.status == 503
    assert answer.headers["x-fault-injected-delay"] == "20ms"
    assert answer.seconds >= 0.020
    assert {each.status for each in await get_many(stack.address, "/pay", 50)} == {503}
    assert not held.done()

    answers = await held
    assert [each.status for each in answers] == [200] * IN_FLIGHT
    assert {each.headers["x-fault-injected-delay"] for each in answers} == {"5s"}
    assert (stack.envoy.running, stack.envoy.pid) == (True, pid)


async def test_ten_edits_in_a_row(stack: Stack) -> None:
    """Ten edits while requests flow lose no request, and the last of them stays."""
    async with Flow(stack.address, "/many") as flow:
        for status in range(501, 511):
            await asyncio.to_thread(stack.set_profile, "many", constant((status, "1ms")))
        await asyncio.to_thread(
            wait_until,
            lambda: flow.answers and flow.answers[-1].status == 510,
            what="the last edit in effect",
        )
    assert {answer.status for answer in flow.answers} <= set(range(500, 511))
    assert {each.status for each in await get_many(stack.address, "/many", 50)} == {510}


def test_invalid_profile_changes_nothing(stack: Stack) -> None:
    """An invalid profile is refused with every faulty path, not committed, and kept from Envoy."""
    stack.settle()
    before = stack.server.http.get("profiles/many").json()
    revision = stack.server.http.get("revisions").json()["items"][0]["number"]
    updates = stack.envoy.stats("update_(attempt|success|rejected)$")
    spec = constant((99, "10ms"), (200, "x"))
    spec["responses"][1]["colour"] = "red"

    answer = stack.server.http.put("profiles/many", json={"spec": spec})

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["path"] for error in answer.json()["errors"]] == [
        "spec.responses[0].status",
        "spec.responses[1].colour",
        "spec.responses[1].distribution.p0",
        "spec.responses[1].distribution.p100",
    ]
    assert stack.server.http.get("profiles/many").json() == before
    assert stack.server.http.get("revisions").json()["items"][0]["number"] == revision
    assert stack.envoy.stats("update_(attempt|success|rejected)$") == updates


def test_log_stays_clean(stack: Stack, tmp_path: Path) -> None:
    """Nothing of all this makes Envoy complain."""
    complaints = [line for line in stack.envoy.log.splitlines() if "[error]" in line or "[critical]" in line]
    assert complaints == []
