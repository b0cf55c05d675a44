"""A fault on one endpoint: what it does, what it leaves alone, and what is left after it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.stack import Stack, constant, endpoint, running
from tests.support import Behaviour, RawResponse, exchange

# What differs from one response to the next, fault or not.
VARYING = {"date", "x-envoy-upstream-service-time"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    profiles = {"slow": constant((200, "100ms")), "down": constant((503, "5ms"))}
    endpoints = [endpoint("pay", "/pay"), endpoint("health", "/health"), endpoint("timed", "/timed", "slow")]
    with running(tmp_path_factory.mktemp("faults"), profiles=profiles, endpoints=endpoints) as stack:
        headers = (("content-type", "application/json"), ("set-cookie", "a=1"), ("set-cookie", "b=2"))
        stack.upstream["/pay"] = Behaviour(headers=headers, body=b'{"paid": true}')
        stack.upstream["/timed/quick"] = Behaviour(delay=0.060)
        stack.upstream["/timed/slow"] = Behaviour(delay=0.150)
        yield stack


def seen(response: RawResponse) -> Any:
    headers = [(name, value) for name, value in response.headers if name not in VARYING]
    return response.status, headers, bytes(response.body), response.trailers


def test_only_its_endpoint_and_only_as_long(stack: Stack) -> None:
    """A fault on /pay leaves /health alone; after it the upstream's answers are back byte for byte."""
    pay, health = (seen(exchange(stack.address, "GET", path)) for path in ("/pay", "/health"))
    changes = stack.envoy.stats("^cluster_manager.cluster_(added|modified|removed)$")

    stack.set_fault("pay", "down")
    stack.settle()
    failed = exchange(stack.address, "GET", "/pay")
    assert (failed.status, bytes(failed.body)) == (503, b"fault filter abort: 503\n")
    assert failed.header("x-fault-upstream-status") == "200"
    assert seen(exchange(stack.address, "GET", "/health")) == health

    stack.clear_fault("pay")
    stack.settle()
    assert seen(exchange(stack.address, "GET", "/pay")) == pay
    assert not [name for name, _ in pay[1] if name.startswith("x-fault-")]
    assert stack.envoy.stats("^cluster_manager.cluster_(added|modified|removed)$") == changes


def test_adds_what_is_missing_to_the_target(stack: Stack) -> None:
    """With a target of 100 ms a quick upstream is delayed by the rest, and a slow one not at all."""
    quick = exchange(stack.address, "GET", "/timed/quick")
    assert quick.header("x-fault-injected-delay") == "100ms"
    assert milliseconds(quick, "x-fault-added-delay") == pytest.approx(40, abs=10)
    assert milliseconds(quick, "x-fault-actual-upstream") == pytest.approx(60, abs=10)

    slow = exchange(stack.address, "GET", "/timed/slow")
    assert slow.header("x-fault-added-delay") is None
    assert milliseconds(slow, "x-fault-actual-upstream") >= 150


def milliseconds(response: RawResponse, header: str) -> float:
    value = response.header(header)
    assert value is not None
    assert value.endswith("ms")
    return float(value.removesuffix("ms"))


def test_percent(stack: Stack) -> None:
    """With a percentage, the other requests pass untouched."""
    stack.set_fault("pay", "down", percent=30)
    stack.settle()
    answers = [exchange(stack.address, "GET", "/pay") for _ in range(400)]
    failed = [answer for answer in answers if answer.status == 503]
    assert 80 <= len(failed) <= 160  # 120 are expected; 4.4 standard deviations
    assert all(answer.header("x-fault-status") is None for answer in answers if answer.status == 200)
    stack.clear_fault("pay")


def test_says_which_profile(stack: Stack) -> None:
    """An injected response names the profile and its revision."""
    revision = stack.server.http.get("profiles/slow").headers["etag"].strip('"')
    answer = exchange(stack.address, "GET", "/timed/quick")
    assert answer.header("x-fault-profile") == f"slow@{revision}"
