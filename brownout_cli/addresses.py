"""HOST:PORT on the command line."""

import errno
import ipaddress
import socket
from dataclasses import dataclass

import typer

from brownout.domain.hosts import is_host_name, is_ip
from brownout_cli.errors import CliError

_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Address:
    """A host (name or IP address, IPv6 without brackets) and a port; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_ip(self) -> bool:
        """Whether the host needs no DNS."""
        return is_ip(self.host)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.is_ip:
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"


def parse_address(text: str) -> Address:
    """Read `HOST:PORT` or `[IPV6]:PORT`.

    Raises:
        typer.BadParameter: it is something else.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    right_host = bracketed == (":" in host) and (is_ip(host) or is_host_name(host))
    if not (colon and right_host and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise typer.BadParameter(f"expected HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, not {text!r}")
    return Address(host, int(port))


def as_address(value: str | Address) -> Address:
    """`parse_address` for options, whose default goes through the parser as well."""
    return value if isinstance(value, Address) else parse_address(value)


def listen(address: Address, option: str) -> socket.socket:
    """Open a listening socket.

    Args:
        address: where; port 0 takes a free one.
        option: the command line option that named it, for the error.

    Raises:
        CliError: the port is taken, or the address is not this machine's.
    """
    try:
        return open_listener(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CliError(
                f"port {address.port} on {address.host} is in use: "
                f"choose another with {option} (0 takes a free one)"
            ) from error
        raise CliError(f"cannot listen on {address} ({option}): {error.strerror or error}") from error


def open_listener(address: Address) -> socket.socket:
    """Open a listening socket.

    Not by `socket.create_server`: that leaves the protocol unnamed, and asyncio then leaves Nagle's algorithm
    on in every connection, which delays small answers by 40 ms.

    Raises:
        OSError: it cannot be had.
    """
    family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address.host, address.port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def choose(address: Address, option: str) -> Address:
    """The address with a real port in place of 0, after a check that it can be listened on.

    For servers that open their socket themselves.
    """
    with listen(address, option) as probe:
        return Address(address.host, probe.getsockname()[1])
