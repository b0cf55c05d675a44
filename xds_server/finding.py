"""What our own check of a rejected response finds: Envoy's text for a refused configuration names nothing."""

import asyncio
from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

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


class Findings:
    """Looks into what was rejected, in a thread, and once for all nodes that reject the same."""

    def __init__(self) -> None:
        self._tasks: WeakKeyDictionary[ResourceSet, asyncio.Task[str | None]] = WeakKeyDictionary()

    async def of(self, node: Node, kind: TypeInfo, sent: ResourceSet) -> str | None:
        """Return what is wrong with `sent` for `node`; None when nothing is found."""
        if kind not in (RDS, ECDS):
            return None
        task = self._tasks.get(sent)
        if task is None:
            task = self._tasks[sent] = asyncio.create_task(asyncio.to_thread(_content, kind, sent))
        found = [_schema(node), await asyncio.shield(task)]
        return "; ".join(each for each in found if each is not None) or None


def _schema(node: Node) -> str | None:
    if node.schema_version is None or node.schema_version >= SCHEMA_VERSION:
        return None
    return f"its module reads schema {node.schema_version}, what it got is schema {SCHEMA_VERSION}"


def _content(kind: TypeInfo, sent: ResourceSet) -> str | None:
    problems: list[str] = []
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
