"""Discovery requests, read straight from the wire.

Only what the protocol needs is decoded. An Envoy's node carries some 500 extensions (61 KB), by default on
every
request: they are skipped unread, and the node is decoded once a stream by who needs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from xds_server import wire
from xds_server.resource_set import NO_NAMES

_NODE_EXTENSIONS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What requests of both variants have.

    Attributes:
        type_url: The resource type.
        node: The serialised node without its extensions; None when the request has none.
        nonce: Of the response that it answers; empty when it answers none.
        error: Why that response was rejected; None when it was not (presence counts, not the text).
    """

    type_url: str = ""
    node: bytes | None = None
    nonce: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SotwRequest(Request):
    """A `DiscoveryRequest`: the version that the client uses, and all names that it wants from now on."""

    version: str = ""
    names: frozenset[str] = NO_NAMES

    @classmethod
    def parse(cls, data: bytes) -> "SotwRequest":
        """Decode a serialised `DiscoveryRequest`.

        Raises:
            WireError: It is none.
        """
        version = type_url = nonce = ""
        node = error = None
        names: list[bytes] = []
        for number, _, _, value in wire.fields(data):
            match number:
                case 1:
                    version = wire.string(value)
                case 2:
                    node = without_extensions(wire.message(value))
                case 3:
                    names.append(wire.message(value))
                case 4:
                    type_url = wire.string(value)
                case 5:
                    nonce = wire.string(value)
                case 6:
                    error = _status_message(wire.message(value))
        return cls(
            version=version,
            node=node,
            names=_shared(tuple(names)),
            type_url=type_url,
            nonce=nonce,
            error=error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaRequest(Request):
    """A `DeltaDiscoveryRequest`: names to add and remove; on a new stream, what the client still has."""

    subscribe: frozenset[str] = NO_NAMES
    unsubscribe: frozenset[str] = NO_NAMES
    initial_versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: bytes) -> "DeltaRequest":
        """Decode a serialised `DeltaDiscoveryRequest`.

        Raises:
            WireError: It is none.
        """
        type_url = nonce = ""
        node = error = None
        subscribe: list[bytes] = []
        unsubscribe: list[bytes] = []
        versions: dict[str, str] = {}
        for number, _, _, value in wire.fields(data):
            match number:
                case 1:
                    node = without_extensions(wire.message(value))
                case 2:
                    type_url = wire.string(value)
                case 3:
                    subscribe.append(wire.message(value))
                case 4:
                    unsubscribe.append(wire.message(value))
                case 5:
                    versions.update([_entry(wire.message(value))])
                case 6:
                    nonce = wire.string(value)
                case 7:
                    error = _status_message(wire.message(value))
        return cls(
            node=node,
            type_url=type_url,
            subscribe=_shared(tuple(subscribe)),
            unsubscribe=_shared(tuple(unsubscribe)),
            initial_versions=versions,
            nonce=nonce,
            error=error,
        )


def without_extensions(node: bytes) -> bytes:
    """Return a serialised node without its list of extensions."""
    kept: list[bytes] = []
    for number, start, end, _ in wire.fields(node):
        if number != _NODE_EXTENSIONS:
            kept.append(node[start:end])
    return b"".join(kept)


@lru_cache(maxsize=64)
def _shared(names: tuple[bytes, ...]) -> frozenset[str]:
    """Return the names as a set; the Envoys of a fleet ask for the same names, and then share one object."""
    return frozenset(wire.string(name) for name in names)


def _status_message(data: bytes) -> str:
    """Return the message of a serialised `google.rpc.Status`."""
    found = ""
    for number, _, _, value in wire.fields(data):
        if number == 2:
            found = wire.message(value).decode(errors="replace")
    return found


def _entry(data: bytes) -> tuple[str, str]:
    """Decode an entry of a map from strings to strings."""
    key = value = ""
    for number, _, _, content in wire.fields(data):
        if number == 1:
            key = wire.string(content)
        elif number == 2:
            value = wire.string(content)
    return key, value
