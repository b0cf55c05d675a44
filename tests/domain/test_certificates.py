"""Which certificates a fleet takes."""

from typing import Any

import pytest

from brownout.domain import CertificateNames, Fleet, ValidationFailed


def fleet(*certificates: str) -> Fleet:
    return Fleet.load({"name": "edge", "mode": "filter", "certificates": list(certificates)})


def test_without_names_every_node_is_taken() -> None:
    """With a certificate or without."""
    assert fleet().admits(None)
    assert fleet().admits(CertificateNames(dns=("any.example.com",)))


def test_with_names_a_certificate_is_required() -> None:
    """Also one without names is not enough."""
    assert not fleet("edge.example.com").admits(None)
    assert not fleet("edge.example.com").admits(CertificateNames())


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("edge.example.com", "edge.example.com", True),
        ("Edge.Example.com", "eDGE.example.COM", True),
        ("edge.example.com", "a.edge.example.com", False),
        ("edge.example.com", "*.example.com", False),
        ("edge.example.com", "edge.example.com\0.evil.test", False),
        ("*.edge.example.com", "e1.edge.example.com", True),
        ("*.edge.example.com", "*.edge.example.com", True),
        ("*.edge.example.com", "a.e1.edge.example.com", False),
        ("*.edge.example.com", "edge.example.com", False),
        ("*.edge.example.com", "myedge.example.com", False),
    ],
)
def test_dns_names(pattern: str, name: str, expected: bool) -> None:
    """They compare whole and without case; a star stands for one label."""
    assert fleet(pattern).admits(CertificateNames(dns=("other.test", name))) is expected
    assert not fleet(pattern).admits(CertificateNames(uris=(name,)))


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("spiffe://example.com/edge", "spiffe://example.com/edge", True),
        ("spiffe://example.com/edge", "spiffe://example.com/edge/1", False),
        ("spiffe://example.com/edge", "spiffe://example.com/Edge", False),
        ("spiffe://example.com/edge/*", "spiffe://example.com/edge/eu/1", True),
        ("spiffe://example.com/edge/*", "spiffe://example.com/edge/", False),
        ("spiffe://example.com/edge/*", "spiffe://example.com/edge", False),
        ("spiffe://example.com/edge/*", "spiffe://example.com/edge-2/1", False),
        ("spiffe://example.com/*", "spiffe://example.com.evil.test/1", False),
    ],
)
def test_uris(pattern: str, name: str, expected: bool) -> None:
    """They compare whole; `/*` stands for everything below."""
    assert fleet(pattern).admits(CertificateNames(uris=("spiffe://other.test/a", name))) is expected
    assert not fleet(pattern).admits(CertificateNames(dns=(name,)))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "*",
        "*.",
        "a b",
        "10.0.0.7",
        "a.*.b",
        "spiffe://",
        "spiffe://a*",
        "spiffe://*/b",
        "spiffe://a/*/b",
        "a/*",
    ],
)
def test_what_is_no_name_is_refused(value: Any) -> None:
    """With examples of what is one."""
    with pytest.raises(ValidationFailed) as caught:
        fleet(value)
    [error] = caught.value.errors
    assert error.path == "certificates[0]"
    assert error.message.startswith("expected a name in a certificate: a URI, like ")


def test_a_name_once() -> None:
    """A repetition is refused, also in another case."""
    with pytest.raises(ValidationFailed) as caught:
        fleet("edge.example.com", "EDGE.example.com")
    assert [each.path for each in caught.value.errors] == ["certificates[1]"]
