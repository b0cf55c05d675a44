"""The route configuration: virtual hosts that together mean "the first endpoint that matches wins"."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from brownout.domain import ANY_HOST
from xds_server import wire
from xds_server.resource_set import Resource
from xds_server.resources.common import NAME, packed
from xds_server.resources.route import with_ports

_TYPE = "envoy.config.route.v3.RouteConfiguration"
_IGNORE_PORT = wire.varint(14 << 3 | wire.VARINT) + wire.varint(1)

Hosts = tuple[str, ...]
Ports = dict[int, frozenset[str] | None]
"""Indices of routes, and the ports on which they are for a host; None is every port."""


def route_configuration(routes: Sequence[tuple[Hosts, bytes]]) -> Resource:
    """Return the RDS resource with the endpoints' hosts and serialised routes, in the order of the list.

    Envoy first picks the virtual host whose domain is the most specific, and only then looks for a route.
    So each distinct host becomes a virtual host that holds, in order, the routes of all endpoints whose
    hosts cover it.
    """
    content = [wire.text(1, NAME)]
    content += [wire.field(2, _virtual_host(host, parts)) for host, parts in virtual_hosts(routes)]
    # A host stands for itself on every port: a client says `example.com:10000` on any port but 80 and 443.
    content.append(_IGNORE_PORT)
    return Resource.of(NAME, packed(_TYPE, b"".join(content)))


def virtual_hosts(routes: Sequence[tuple[Hosts, bytes]]) -> Iterator[tuple[str, list[bytes]]]:
    """Yield each distinct host (without its port) and the routes of its virtual host."""
    users: dict[str, Ports] = {}
    for index, (hosts, _) in enumerate(routes):
        for host in hosts:
            name, port = _split(host)
            _allow(users.setdefault(name, {}), index, port)
    for name, own in users.items():
        allowed = own
        for cover in _covers(name, users):
            allowed = _merged(allowed, users[cover])
        yield name, [_on_ports(routes[index][1], ports) for index, ports in allowed.items()]


def _allow(allowed: Ports, index: int, port: frozenset[str] | None) -> None:
    """Add a port (None: every port) on which the route with this index is for the host."""
    if port is None or index not in allowed:
        allowed[index] = port
    elif (known := allowed[index]) is not None:
        allowed[index] = known | port


def _merged(one: Ports, other: Ports) -> Ports:
    """Return both, in the order of the routes."""
    both = dict(one)
    for index, port in other.items():
        _allow(both, index, port)
    return dict(sorted(both.items()))


def _covers(name: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the others of `known` that stand for all of `name`: `*.` and a part of it, `*`."""
    rest = name.removeprefix("*.") if name.startswith("*.") else name
    while "." in rest and not rest.startswith("["):
        rest = rest.partition(".")[2]
        if f"*.{rest}" in known:
            yield f"*.{rest}"
    if name != ANY_HOST and ANY_HOST in known:
        yield ANY_HOST


@lru_cache(maxsize=4096)
def _split(host: str) -> tuple[str, frozenset[str] | None]:
    """Split a host into its name and its port (None: every port)."""
    name, colon, port = host.rpartition(":")
    return (name, frozenset({port})) if colon and not host.endswith("]") else (host, None)


def _on_ports(route: bytes, ports: frozenset[str] | None) -> bytes:
    return route if ports is None else with_ports(route, ports)


def _virtual_host(host: str, routes: Sequence[bytes]) -> bytes:
    return wire.text(1, host) + wire.text(2, host) + wire.repeated(3, routes)
