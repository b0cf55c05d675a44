"""The same build on every Envoy that is supported."""

from pathlib import Path

import pytest

from tests.e2e.stack import constant, endpoint, running
from tests.support import OLDER, REFERENCE, exchange


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
@pytest.mark.parametrize("protocol", ["delta", "sotw"])
def test_delay_abort_and_push(version: str, protocol: str, tmp_path: Path) -> None:
    """Delay, abort, a push per route and its removal work, and nothing is rejected."""
    profiles = {"slow": constant((200, "50ms")), "down": constant((503, "1ms"))}
    endpoints = [endpoint("slow", "/slow", "slow"), endpoint("down", "/down", "down"), endpoint("rest", "/")]
    with running(
        tmp_path, profiles=profiles, endpoints=endpoints, version=version, protocol=protocol
    ) as stack:
        slow = exchange(stack.address, "GET", "/slow")
        assert (slow.status, slow.header("x-fault-injected-delay")) == (200, "50ms")
        assert exchange(stack.address, "GET", "/down").status == 503
        assert exchange(stack.address, "GET", "/").header("x-fault-status") is None

        stack.set_fault("rest", "down")
        stack.settle()
        assert exchange(stack.address, "GET", "/").status == 503
        stack.clear_fault("rest")
        stack.settle()
        assert exchange(stack.address, "GET", "/").header("x-fault-status") is None

        rejected = {name: value for name, value in stack.envoy.stats("update_rejected$").items() if value}
        assert rejected == {}
