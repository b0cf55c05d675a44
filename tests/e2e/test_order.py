"""The first endpoint in the list that matches wins, whatever its hosts."""

from pathlib import Path

from tests.e2e.stack import constant, endpoint, running
from tests.support import exchange


def test_first_match_wins_across_hosts(tmp_path: Path) -> None:
    """An endpoint for all hosts that stands first wins over one for a host that Envoy finds more specific."""
    hosts = {"hosts": ["shop.example"], "prefix": "/pay"}
    wildcard = {"hosts": ["*.example"], "prefix": "/"}
    profiles = {
        name: constant((status, "1ms")) for name, status in (("a", 501), ("b", 502), ("c", 503), ("d", 504))
    }
    endpoints = [
        endpoint("any-card", "/pay/card", "a"),
        endpoint("shop-pay", "", "b", match=hosts),
        endpoint("any-example", "", "c", match=wildcard),
        endpoint("any", "/", "d"),
    ]
    with running(tmp_path, profiles=profiles, endpoints=endpoints) as stack:

        def status(host: str, path: str) -> int:
            return exchange(stack.address, "GET", path, headers=[("host", host)]).status

        asked = {
            ("shop.example", "/pay/card"): 501,
            ("shop.example", "/pay"): 502,
            ("shop.example", "/other"): 503,
            ("other.example", "/pay"): 503,
            ("other.example", "/pay/card/1"): 501,
            ("elsewhere.test", "/pay"): 504,
        }
        assert {each: status(*each) for each in asked} == asked

        turned = ["any", "any-example", "shop-pay", "any-card"]
        stack.server.put("fleets/edge/endpoints-order", {"endpoints": turned})
        stack.settle()
        assert {status(*each) for each in asked} == {504}
