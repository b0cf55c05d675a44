"""What our own check of a rejected response finds: Envoy's text for a refused configuration names nothing."""

from collections.abc import Callable, Iterator

from brownout.profile import SCHEMA_VERSION, ValidationFailed, load_filter_config, load_route_config
from xds_server import wire
from xds_server.node import Node
from xds_server.resource_set import ResourceSet
from xds_server.types import ECDS, RDS, TypeInfo

# Numbers of the fields on the way to what the filter is configured with.
_ANY_VALUE, _STRING_VALUE, _MAP_VALUE = 2, 1, 2
_VIRTUAL_HOSTS, _ROUTES, _ROUTE_NAME, _PER_FILTER = 2, 3, 14, 13
_EXTENSION_CONFIG, _FILTER_CONFIG = 2, 3
_TEXT = (_ANY_VALUE, _FILTER_CONFIG, _ANY_VALUE, _STRING_VALUE)


def finding(node: Node, kind: TypeInfo, sent: ResourceSet) -> str | None:
    """Return what is wrong with `sent` for `node`; None when nothing is found."""
    if kind not in (RDS, ECDS):
        return None
    problems: list[str] = []
    if node.schema_version is not None and node.schema_version < SCHEMA_VERSION:
        problems.append(
            f"its module reads schema {node.schema_version}, what it got is schema {SCHEMA_VERSION}"
        )
    for name in sorted(sent.names):
        body = sent[name].body
        for what, text in _route_texts(body) if kind is RDS else _filter_texts(body):
            load = load_route_config if kind is RDS else load_filter_config
            problems += _check(what, text, load)
    return "; ".join(dict.fromkeys(problems)) or None


def _check(what: str, text: bytes, load: Callable[[bytes], object]) -> Iterator[str]:
    try:
        load(text)
    except ValidationFailed as failed:
        yield from (f"{what}: {error.path}: {error.message}" for error in failed.errors)


def _route_texts(body: bytes) -> Iterator[tuple[str, bytes]]:
    for route in _walk(body, _ANY_VALUE, _VIRTUAL_HOSTS, _ROUTES):
        name = b"".join(_walk(route, _ROUTE_NAME)).decode()
        for text in _walk(route, _PER_FILTER, _MAP_VALUE, *_TEXT):
            yield f"endpoint {name}", text


def _filter_texts(body: bytes) -> Iterator[tuple[str, bytes]]:
    for text in _walk(body, _ANY_VALUE, _EXTENSION_CONFIG, *_TEXT):
        yield "filter", text


def _walk(data: bytes, *path: int) -> Iterator[bytes]:
    """Yield the contents of all fields at a path of field numbers."""
    if not path:
        yield data
        return
    for number, _, _, value in wire.fields(data):
        if number == path[0]:
            yield from _walk(wire.message(value), *path[1:])
