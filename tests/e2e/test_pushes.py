"""What a running Envoy goes on with while the configuration around it changes."""

from collections.abc import Iterator
from pathlib import Path

from tests.e2e.stack import FLEET, Stack, constant, endpoint, running
from tests.support import exchange

SAMPLES = 40
CYCLE = {
    "responses": [{"status": 200, "resolution": SAMPLES, "distribution": {"p0": "0s", "p100": "40us"}}],
}
WHOLE_CYCLE = sorted(f"{k}.5µs" if k else "500ns" for k in range(SAMPLES))
ENDPOINTS = f"fleets/{FLEET}/endpoints"


def edits(stack: Stack) -> Iterator[None]:
    """Edits that leave the profile's behaviour and the endpoint as they are, one at each step."""
    stack.server.put("profiles/cycle", {"spec": CYCLE, "description": "in other words"})
    yield
    stack.set_fault("pay", "cycle", expires_at="2099-01-01T00:00:00Z")
    yield
    stack.set_fault("pay", "cycle", **{"for": "10h"})
    yield
    stack.set_fault("other", "down")
    yield
    stack.set_profile("down", constant((500, "1ms")))
    yield
    stack.server.put(f"{ENDPOINTS}/third", {"match": {"prefix": "/third"}, "upstream": "backend"})
    yield
    stack.server.put(f"{ENDPOINTS}-order", {"endpoints": ["other", "third", "pay"]})
    yield
    stack.clear_fault("other")
    yield
    stack.clear_fault("pay")
    stack.settle()
    assert exchange(stack.address, path="/pay").header("x-fault-status") is None
    stack.set_fault("pay", "cycle")
    yield
    assert stack.server.http.post(f"fleets/{FLEET}/halt").is_success
    stack.settle()
    assert exchange(stack.address, path="/pay").header("x-fault-status") is None
    assert stack.server.http.post(f"fleets/{FLEET}/resume").is_success
    yield


def test_edits_around_a_profile_do_not_restart_its_cycle(tmp_path: Path) -> None:
    """Descriptions, deadlines, other endpoints, their order, a halt: each sample comes once a cycle."""
    profiles = {"cycle": CYCLE, "down": constant((503, "1ms"))}
    endpoints = [endpoint("pay", "/pay", "cycle"), endpoint("other", "/other")]
    with running(tmp_path, profiles=profiles, endpoints=endpoints) as stack:
        samples, labels = [], []

        def draw() -> None:
            answer = exchange(stack.address, path="/pay")
            samples.append((answer.header("x-fault-injected-delay") or "").encode("latin-1").decode())
            labels.append(answer.header("x-fault-profile"))

        draw()
        for _ in edits(stack):
            stack.settle()
            for _ in range(SAMPLES // 4 - 1):
                draw()
        while len(samples) % SAMPLES:
            draw()
        assert stack.envoy.stat("cluster_manager.cluster_modified") == 0
    assert labels[0] != labels[1]  # the edited description is a new revision of the profile
    assert len(samples) >= 2 * SAMPLES
    for start in range(0, len(samples), SAMPLES):
        assert sorted(samples[start : start + SAMPLES]) == WHOLE_CYCLE
