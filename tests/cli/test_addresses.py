"""HOST:PORT as users write it, and ports that cannot be had."""

import socket

import pytest
import typer

from brownout_cli.addresses import Address, choose, listen, parse_address
from brownout_cli.errors import CliError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        ("[::1]:0", Address("::1", 0)),
        ("envoy.example:18000", Address("envoy.example", 18000)),
    ],
)
def test_reads_and_writes_the_same(text: str, address: Address) -> None:
    """An address prints as it was written."""
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8080",
        ":8080",
        "host",
        "host:",
        "host:http",
        "::1:8080",
        "[::1]",
        "[host]:80",
        "host:65536",
        "h:-1",
        "h:²",
        "a b:1",
        "127.0.0:1",
        "http://a:1",
    ],
)
def test_refuses_what_is_no_address(text: str) -> None:
    """Anything else is refused with an example of what is expected."""
    with pytest.raises(typer.BadParameter, match=r"expected HOST:PORT, as in 127.0.0.1:8080"):
        parse_address(text)


def test_knows_loopback() -> None:
    """Only this machine's own addresses count as loopback."""
    assert all(Address(host, 1).is_loopback for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost"))
    assert not any(Address(host, 1).is_loopback for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"))


def test_taken_port_names_the_option() -> None:
    """A port that is taken is an error that names the option to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            CliError, match=rf"port {port} on 127.0.0.1 is in use: choose another with --http \("
        ):
            listen(Address("127.0.0.1", port), "--http")


def test_foreign_address_names_the_option() -> None:
    """An address of another machine is an error that names the option."""
    with pytest.raises(CliError, match=r"cannot listen on 203.0.113.1:1 \(--xds\): "):
        listen(Address("203.0.113.1", 1), "--xds")


def test_port_zero_takes_a_free_one() -> None:
    """Port 0 becomes a real port that is then free."""
    chosen = choose(Address("127.0.0.1", 0), "--envoy-port")
    assert chosen.port > 0
    listen(chosen, "--envoy-port").close()
