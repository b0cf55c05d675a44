"""The route configuration: virtual hosts that together mean "the first endpoint that matches wins"."""

from collections.abc import Iterator, Mapping, Sequence

from brownout.domain import ANY_HOST
from xds_server import wire
from xds_server.resource_set import Resource
from xds_server.resources.common import NAME, packed
from xds_server.resources.route import with_ports

_TYPE = "envoy.config.route.v3.RouteConfiguration"
_IGNORE_PORT = wire.varint(14 << 3 | wire.VARINT) + wire.varint(1)
_EVERY_PORT = ""

Hosts = tuple[str, ...]


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
    users: dict[str, dict[int, frozenset[str]]] = {}
    for index, (hosts, _) in enumerate(routes):
        for host in hosts:
            name, port = _split(host)
            entry = users.setdefault(name, {})
            entry[index] = entry.get(index, frozenset()) | {port}
    for name in users:
        ports: dict[int, frozenset[str]] = {}
        for cover in _covers(name, users):
            for index, some in users[cover].items():
                ports[index] = ports.get(index, frozenset()) | some
        yield name, [_on_ports(routes[index][1], ports[index]) for index in sorted(ports)]


def _covers(name: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield those of `known` that stand for all of `name`: itself, `*.` and a part of it, `*`."""
    yield name
    rest = name.removeprefix("*.") if name.startswith("*.") else name
    while "." in rest and not rest.startswith("["):
        rest = rest.partition(".")[2]
        if f"*.{rest}" in known:
            yield f"*.{rest}"
    if name != ANY_HOST and ANY_HOST in known:
        yield ANY_HOST


def _split(host: str) -> tuple[str, str]:
    """Split a host into its name and its port (empty: every port)."""
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not host.endswith("]") else (host, _EVERY_PORT)


def _on_ports(route: bytes, ports: frozenset[str]) -> bytes:
    return route if _EVERY_PORT in ports else with_ports(route, ports)


def _virtual_host(host: str, routes: Sequence[bytes]) -> bytes:
    return wire.text(1, host) + wire.text(2, host) + wire.repeated(3, routes)
