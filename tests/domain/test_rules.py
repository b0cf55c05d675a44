"""What holds between an endpoint, its fleet, and what it refers to."""

from typing import Any

import pytest

from brownout.domain import DEFAULT_TIMEOUT, Endpoint, Fleet, ValidationFailed, settled

LISTENER = {"name": "http", "address": "0.0.0.0", "port": 10000}
FLEETS = {
    "gateway": Fleet.load({"name": "edge", "mode": "gateway", "listeners": [LISTENER]}),
    "routes": Fleet.load({"name": "mesh", "mode": "routes"}),
    "filter": Fleet.load({"name": "other", "mode": "filter"}),
}


def settle(mode: str, **fields: Any) -> Endpoint:
    endpoint = Endpoint.load({"name": "pay", **fields})
    return settled(endpoint, FLEETS[mode], profiles={"slow"}, upstreams={"payments"})


def refused(mode: str, **fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationFailed) as caught:
        settle(mode, **fields)
    return {each.path: each.message for each in caught.value.errors}


@pytest.mark.parametrize("mode", ["gateway", "routes"])
def test_a_routed_endpoint_needs_an_upstream_and_has_a_timeout(mode: str) -> None:
    """15 s, as Envoy's own default; 0 is none."""
    assert refused(mode) == {"upstream": f'is required in mode "{mode}"'}
    assert settle(mode, upstream="payments").timeout == DEFAULT_TIMEOUT
    assert settle(mode, upstream="payments", timeout="0s").timeout == 0


def test_in_mode_filter_routing_has_no_meaning() -> None:
    """The Envoy keeps its routes; nothing is filled in."""
    found = refused("filter", upstream="payments", timeout="1s", retry={"retry_on": "5xx"})
    assert list(found) == ["upstream", "timeout", "retry"]
    endpoint = settle(
        "filter", fault={"profile": "slow"}, match={"methods": ["GET"], "hosts": ["a.example.com"]}
    )
    assert endpoint.timeout is None


def test_in_mode_filter_a_host_has_no_wildcard() -> None:
    """The filter compares `:authority` as a whole."""
    found = refused("filter", match={"hosts": ["a.example.com", "*.example.com"]})
    assert list(found) == ["match.hosts[1]"]
    assert settle("filter", match={"hosts": ["*"]}).match.hosts == ("*",)


def test_a_try_takes_no_longer_than_all_tries() -> None:
    """Envoy would ignore such a per-try timeout."""
    retry = {"retry_on": "5xx", "per_try_timeout": "16s"}
    assert list(refused("gateway", upstream="payments", retry=retry)) == ["retry.per_try_timeout"]
    assert settle("gateway", upstream="payments", retry=retry, timeout="16s").retry is not None
    assert settle("gateway", upstream="payments", retry=retry, timeout="0s").retry is not None


def test_references_to_nothing_are_refused_with_what_exists() -> None:
    """All at once, together with what the mode refuses."""
    assert refused("gateway", upstream="payment", fault={"profile": "zzz"}) == {
        "upstream": "there is no upstream 'payment' (did you mean 'payments'?)",
        "fault.profile": "there is no profile 'zzz' (there is 'slow')",
    }
    endpoint = Endpoint.load({"name": "pay", "upstream": "x"})
    with pytest.raises(ValidationFailed, match=r"endpoints\[3\].upstream: .* \(there is none yet\)"):
        settled(endpoint, FLEETS["gateway"], profiles=(), upstreams=(), path="endpoints[3]")
