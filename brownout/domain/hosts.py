"""The hosts of an endpoint: Envoy's virtual host domains, as far as a user needs them."""

import re
from ipaddress import IPv6Address, ip_address

_LABELS = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
_HOST = re.compile(rf"(\*\.)?{_LABELS}|\[(?P<v6>[0-9a-f:.]+)\]")
_EXPECTED = 'expected "*", "*.example.com" or "api.example.com", each but the first with an optional ":port"'

ANY_HOST = "*"


def is_host_name(text: str) -> bool:
    """Whether `text` is a name that DNS can resolve (an IP address is none)."""
    # A last label of digits only is a mistyped address: no top-level domain looks like that (RFC 3696).
    last = text.rpartition(".")[2]
    return len(text) <= 253 and re.fullmatch(_LABELS, text.lower()) is not None and not last.isdigit()


def is_ip(text: str) -> bool:
    """Whether `text` is an IPv4 or IPv6 address (without brackets)."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def same_address(text: str) -> object:
    """Return what is equal for all ways of writing the same address or host name."""
    return ip_address(text) if is_ip(text) else text.lower()


def normal_host(text: str) -> str:
    """Return the domain in the form that is compared (hosts are compared without case).

    Raises:
        ValueError: It is no domain that a virtual host could have.
    """
    host = text.lower()
    if host == ANY_HOST:
        return host
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    if (
        colon
        and not host.endswith("]")
        and not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535)
    ):
        raise ValueError(_EXPECTED)
    found = _HOST.fullmatch(name)
    if found is None or len(host) > 259:
        raise ValueError(_EXPECTED)
    if found["v6"] is not None:
        _check_v6(found["v6"])
    return host


def _check_v6(text: str) -> None:
    try:
        IPv6Address(text)
    except ValueError:
        raise ValueError(_EXPECTED) from None


def covers(pattern: str, host: str) -> bool:
    """Whether every request that `host` stands for is also one of `pattern`.

    Both are normal, and either may be a pattern. As in Envoy, `*.example.com` stands for every name below it,
    however deep, and not for `example.com`.
    """
    if pattern in (ANY_HOST, host):
        return True
    return pattern.startswith("*.") and host.removeprefix("*").endswith(pattern[1:])
