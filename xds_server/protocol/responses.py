"""Discovery responses: bytes that all streams share, and behind them the one field that is a stream's own."""

from xds_server import wire
from xds_server.resource_set import Resource, ResourceSet
from xds_server.types import TypeInfo

_NONCE = 5
"""Number of the field `nonce` in both kinds of response."""


def with_nonce(shared: bytes, nonce: str) -> bytes:
    """Return a response with its nonce."""
    return shared + wire.text(_NONCE, nonce)


def sotw_response(kind: TypeInfo, resources: ResourceSet, names: frozenset[str]) -> bytes:
    """Return the `DiscoveryResponse` with those of `names`, without a nonce.

    `version_info` is that of all of `resources`: what the client has when it has taken this response. A
        part that is sent later (EDS, RDS) has another version only if something changed.
    """

    def build() -> bytes:
        return b"".join(
            (
                wire.text(1, resources.version),
                wire.repeated(2, (each.body for each in resources.pick(names))),
                wire.text(4, kind.url),
            )
        )

    return resources.memo((kind.key, names), build)


def delta_response(
    kind: TypeInfo, resources: ResourceSet, names: frozenset[str], removed: frozenset[str]
) -> bytes:
    """Return the `DeltaDiscoveryResponse` with those of `names`, and `removed` as such, without a nonce."""

    def build() -> bytes:
        return b"".join(
            (
                wire.text(1, resources.version),
                wire.repeated(2, (_delta_resource(each) for each in resources.pick(names))),
                wire.text(4, kind.url),
                wire.repeated(6, (name.encode() for name in sorted(removed))),
            )
        )

    return resources.memo((kind.key, names, removed), build)


def _delta_resource(resource: Resource) -> bytes:
    """Serialise an `envoy.service.discovery.v3.Resource`."""
    return wire.text(1, resource.version) + wire.field(2, resource.body) + wire.text(3, resource.name)
