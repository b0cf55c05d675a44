"""The response headers that say what was injected, one test for each row of their table."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import Behaviour, EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import FAULT_HEADERS, always, faults, profile, response, seconds

ROUTES = [
    route("/match", always(200, "52.3ms")),
    route("/abort", always(503, "20ms")),
    route("/respond", always(202, "20ms")),
    route("/zero", always(200, "0s")),
    route("/diagnostic", always(200, "1ms", diagnostic=True)),
    route("/label", always(200, "1ms", label="slow-checkout@7")),
    route("/silent", always(503, "20ms", headers=False, diagnostic=True, label="x")),
    route("/fails", always(200, "1ms")),
    route("/foreign", always(200, "0s")),
    route("/untouched"),
]
FOREIGN = (*((name, "foreign") for name in FAULT_HEADERS), ("x-fault-status", "again"), ("x-fault-s", "kept"))


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        "/match/slow": Behaviour(delay=0.08),
        "/fails": Behaviour(status=500),
        "/foreign": Behaviour(headers=FOREIGN),
        "/foreign/many": Behaviour(headers=(*FOREIGN, *((f"x-{i}", "1") for i in range(80)))),
        "/abort/502": Behaviour(status=502),
    }
    with Upstream(paths) as server:
        yield server


@pytest.fixture(scope="module")
def address(upstream: Upstream) -> Iterator[tuple[str, int]]:
    with EnvoyProcess(static_bootstrap(upstream.port, routes=ROUTES)) as envoy:
        yield envoy.address()


def test_injected_delay_is_the_target_in_go_text(address: tuple[str, int]) -> None:
    """`x-fault-injected-delay` is the target from the distribution, as Go prints it."""
    assert faults(exchange(address, path="/match"))["x-fault-injected-delay"] == "52.3ms"
    assert faults(exchange(address, path="/zero"))["x-fault-injected-delay"] == "0s"


def test_actual_upstream_is_the_time_that_the_upstream_took(address: tuple[str, int]) -> None:
    """`x-fault-actual-upstream` is the upstream's own time."""
    slow = seconds(faults(exchange(address, path="/match/slow"))["x-fault-actual-upstream"])
    quick = seconds(faults(exchange(address, path="/match"))["x-fault-actual-upstream"])
    assert 0.08 <= slow < 0.5
    assert 0 < quick < 0.08


def test_added_delay_is_target_minus_upstream_to_the_nanosecond(address: tuple[str, int]) -> None:
    """`x-fault-added-delay` is the target less the upstream's time."""
    found = faults(exchange(address, path="/match"))
    total = seconds(found["x-fault-actual-upstream"]) + seconds(found["x-fault-added-delay"])
    assert total == pytest.approx(0.0523, abs=1e-9)


def test_added_delay_is_left_out_when_nothing_was_added(address: tuple[str, int]) -> None:
    """An upstream slower than the target is not delayed, and the header is absent."""
    started = time.monotonic()
    found = faults(exchange(address, path="/match/slow"))
    assert time.monotonic() - started < 0.08 + 0.052
    assert "x-fault-added-delay" not in found
    assert "x-fault-added-delay" not in faults(exchange(address, path="/zero"))


def test_in_flight_is_counted_before_the_request_is_added(
    address: tuple[str, int], upstream: Upstream
) -> None:
    """`x-fault-requests-in-flight` is what was in flight at entry: 0 for a lone request, n for the next."""
    gate = upstream.gate()
    upstream["/match/gate"] = Behaviour(gate=gate)
    assert faults(exchange(address, path="/match"))["x-fault-requests-in-flight"] == "0"
    with ThreadPoolExecutor(3) as pool:
        answers = []
        for waiting in range(1, 4):
            answers.append(pool.submit(exchange, address, path="/match/gate"))
            gate.wait_waiting(waiting)
        gate.open()
        counts = [faults(answer.result())["x-fault-requests-in-flight"] for answer in answers]
    assert counts == ["0", "1", "2"]
    assert faults(exchange(address, path="/match"))["x-fault-requests-in-flight"] == "0"


def test_worker_index_only_with_diagnostic(address: tuple[str, int]) -> None:
    """`x-fault-worker-index` appears when the profile says `diagnostic`, and not otherwise."""
    assert faults(exchange(address, path="/diagnostic"))["x-fault-worker-index"] == "0"
    assert "x-fault-worker-index" not in faults(exchange(address, path="/match"))


def test_injected_is_abort_from_400_on(address: tuple[str, int]) -> None:
    """`x-fault-injected: abort` marks a forced error."""
    assert faults(exchange(address, path="/abort"))["x-fault-injected"] == "abort"


def test_injected_is_response_below_400(address: tuple[str, int]) -> None:
    """`x-fault-injected: response` marks a forced status below 400, also over an upstream's error."""
    assert faults(exchange(address, path="/respond"))["x-fault-injected"] == "response"
    over_error = exchange(address, path="/fails")
    assert over_error.status == 200
    assert faults(over_error)["x-fault-injected"] == "response"


def test_injected_is_left_out_when_the_status_is_the_upstreams(address: tuple[str, int]) -> None:
    """A status that equals the upstream's is no override."""
    assert "x-fault-injected" not in faults(exchange(address, path="/match"))


def test_status_is_the_sampled_one(address: tuple[str, int]) -> None:
    """`x-fault-status` is what the distribution selected."""
    assert faults(exchange(address, path="/abort"))["x-fault-status"] == "503"
    assert faults(exchange(address, path="/match"))["x-fault-status"] == "200"


def test_upstream_status_is_the_original_one(address: tuple[str, int]) -> None:
    """`x-fault-upstream-status` keeps what the upstream said, also when it is replaced."""
    assert faults(exchange(address, path="/abort"))["x-fault-upstream-status"] == "200"
    assert faults(exchange(address, path="/abort/502"))["x-fault-upstream-status"] == "502"
    assert faults(exchange(address, path="/fails"))["x-fault-upstream-status"] == "500"


def test_profile_is_the_label(address: tuple[str, int]) -> None:
    """`x-fault-profile` is the binding's label, and absent without one."""
    assert faults(exchange(address, path="/label"))["x-fault-profile"] == "slow-checkout@7"
    assert "x-fault-profile" not in faults(exchange(address, path="/match"))


def test_all_headers_can_be_left_out(address: tuple[str, int]) -> None:
    """`headers: false` adds none, and injects all the same."""
    started = time.monotonic()
    answer = exchange(address, path="/silent")
    assert time.monotonic() - started >= 0.02
    assert answer.status == 503
    assert faults(answer) == {}


def test_a_route_without_a_fault_is_untouched(address: tuple[str, int]) -> None:
    """Nothing is added where nothing is configured."""
    assert faults(exchange(address, path="/untouched")) == {}


@pytest.mark.parametrize("path", ["/foreign", "/foreign/many"])
def test_the_headers_are_this_filter_s_alone(address: tuple[str, int], path: str) -> None:
    """What another filter behind this one says is replaced, also where this one says nothing."""
    found = faults(exchange(address, path=path))
    assert found.pop("x-fault-s") == "kept"
    assert tuple(found) == (
        "x-fault-injected-delay",
        "x-fault-actual-upstream",
        "x-fault-requests-in-flight",
        "x-fault-status",
        "x-fault-upstream-status",
    )
    assert "foreign" not in found.values()


def test_the_full_set_in_the_order_of_the_table(upstream: Upstream) -> None:
    """A forced, delayed, labelled, diagnostic response carries every header once, in the table's order."""
    everything = profile(response(418, "5ms"), diagnostic=True, label="all")
    with EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", everything)])) as envoy:
        found = faults(exchange(envoy.address(), path="/"))
    assert tuple(found) == FAULT_HEADERS
