"""Only this machine, and no page of another site."""

import pytest
from starlette.datastructures import Headers

from api.hosts import is_loopback, refusal


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8080",
        "LOCALHOST",
        "127.0.0.1:80",
        "127.9.9.9",
        "[::1]:8080",
        "app.localhost:1",
    ],
)
def test_loopback_names_are_served(host: str) -> None:
    """With and without a port, IPv4 and IPv6."""
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example.com",
        "127.0.0.1.example.com",
        "localhost.example.com",
        "10.0.0.1",
        "[::2]",
        "[",
        "a@b:c:d",
        "0.0.0.0",
    ],
)
def test_other_names_are_not(host: str) -> None:
    """A site's name that resolves to loopback is still that site's name."""
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("method", "origin", "refused"),
    [
        ("PUT", None, False),
        ("PUT", "http://127.0.0.1:8080", False),
        ("PUT", "http://127.0.0.1:3000", True),
        ("POST", "https://evil.example", True),
        ("DELETE", "null", True),
        ("PUT", "http://[", True),
        ("PUT", "127.0.0.1:8080", True),
        ("PUT", "https://127.0.0.1:8080", False),
        ("GET", "https://evil.example", False),
    ],
)
def test_writes_of_other_origins_are_refused(method: str, origin: str | None, refused: bool) -> None:
    """A page may write only where it came from; reading it cannot without CORS."""
    headers = {"host": "127.0.0.1:8080"} | ({"origin": origin} if origin else {})
    assert (refusal(method, Headers(headers)) is not None) == refused
