"""The control plane dies and comes back; Envoy does not notice more than it must."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stack import FLEET, Stack, constant, endpoint, running
from tests.support import wait_until
from tests.support.load import Flow, get_many

# What Envoy counts when something is new or wrong; `update_success` also counts what is the same.
CHANGES = "(update_rejected|version|config_reload|(cluster|listener)_(added|modified|removed))$"


@pytest.fixture(params=["delta", "sotw"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stack(protocol: str, tmp_path: Path) -> Iterator[Stack]:
    profiles = {"pay": constant((500, "2ms"))}
    endpoints = [endpoint("pay", "/pay", "pay"), endpoint("rest", "/")]
    with running(tmp_path, profiles=profiles, endpoints=endpoints, protocol=protocol) as stack:
        yield stack


async def test_kill_under_load(stack: Stack, protocol: str) -> None:
    """While the control plane is dead Envoy goes on injecting; when it is back, nothing is pushed again."""
    changes, updates = stack.envoy.stats(CHANGES), stack.envoy.stats("update_success$")
    connected = "control_plane.connected_state"
    async with Flow(stack.address, "/pay") as flow:
        stack.server.kill()
        await asyncio.to_thread(_wait_stat, stack, connected, 0)
        without = len(flow.answers)
        await asyncio.sleep(0.2)
        assert len(flow.answers) > without
        await asyncio.to_thread(stack.server.start)
        await asyncio.to_thread(_wait_stat, stack, connected, 1)
        await asyncio.to_thread(stack.settle)
    assert {answer.status for answer in flow.answers} == {500}
    assert {answer.headers.get("x-fault-status") for answer in flow.answers} == {"500"}
    assert stack.envoy.stats(CHANGES) == changes
    if protocol == "delta":  # in the other one a new stream is always answered
        assert stack.envoy.stats("update_success$") == updates

    await asyncio.to_thread(stack.set_profile, "pay", constant((501, "2ms")))
    await asyncio.to_thread(stack.settle)
    assert {answer.status for answer in await get_many(stack.address, "/pay", 20)} == {501}


def test_committed_is_committed(stack: Stack) -> None:
    """What was acknowledged to a client before SIGKILL is there afterwards, and reaches Envoy."""
    for status in range(510, 530):
        stack.set_profile("pay", constant((status, "2ms")))
    stack.server.put(f"fleets/{FLEET}/endpoints/last", endpoint("last", "/last", "pay"))
    exported = stack.server.http.get("config").text
    revisions = stack.server.http.get("revisions").json()
    stack.server.kill()
    stack.server.start()
    assert stack.server.http.get("config").text == exported
    assert stack.server.http.get("revisions").json() == revisions
    stack.settle()
    [answer] = asyncio.run(get_many(stack.address, "/pay", 1))
    assert answer.status == 529


def _wait_stat(stack: Stack, name: str, value: int) -> None:
    wait_until(lambda: stack.envoy.stat(name) == value, timeout=15, what=f"{name} == {value}")
