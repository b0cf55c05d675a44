"""Hosts: Envoy's virtual host domains."""

import pytest

from brownout.domain.hosts import covers, normal_host


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("*", "*"),
        ("api.example.com", "api.example.com"),
        ("API.Example.com:8443", "api.example.com:8443"),
        ("*.example.com", "*.example.com"),
        ("*.example.com:80", "*.example.com:80"),
        ("10.0.0.7:8080", "10.0.0.7:8080"),
        ("[::1]", "[::1]"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("my_service", "my_service"),
    ],
)
def test_a_host_is_compared_without_case(text: str, normal: str) -> None:
    """The port, where given, belongs to it."""
    assert normal_host(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*:80",
        "a*",
        "api.*",
        "*example.com",
        "a..b",
        ".a",
        "a.",
        "-a",
        "a:0",
        "a:65536",
        "a:",
        "a:b",
        "::1",
        "[::g]",
        "[1.2.3.4]",
        "a b",
        "http://a",
        "a/b",
        "ä",
        "a:²",
        "a" * 64,
        "*.*.a",
        "[::1]x",
    ],
)
def test_anything_else_is_no_host(text: str) -> None:
    """The message shows the three forms."""
    with pytest.raises(ValueError, match=r'expected "\*", "\*\.example\.com" or "api\.example\.com"'):
        normal_host(text)


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("*", "api.example.com", True),
        ("*", "*.example.com", True),
        ("*.example.com", "*", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "*.b.example.com", True),
        ("*.example.com", "*.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "notexample.com", False),
        ("*.example.com", "api.example.com:80", False),
        ("*.example.com:80", "api.example.com:80", True),
        ("*.b.example.com", "*.example.com", False),
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "*.example.com", False),
    ],
)
def test_a_pattern_covers_what_it_always_matches(pattern: str, host: str, *, expected: bool) -> None:
    """A wildcard stands for every depth, not for the name itself."""
    assert covers(pattern, host) is expected
