"""A node: an Envoy as its first request describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from envoy_data_plane.envoy.config.core.v3 import Node as EnvoyNode

from brownout.ports import NodeStatus

_META = "brownout"


@dataclass(frozen=True, slots=True)
class Node:
    """Who a stream is.

    Attributes:
        id: `node.id`.
        fleet: `node.cluster`.
        version: Envoy's version; None when it did not say.
        locality: `region`, `zone`, `sub_zone`, as far as given.
        metadata: `node.metadata` as plain data.
        schema_version: Of the module, which our bootstrap puts into the metadata; None when it did not.
    """

    id: str
    fleet: str
    version: str | None = None
    locality: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema_version(self) -> int | None:
        """The module's schema version as the metadata says it: `brownout: {schema_version: 1}`."""
        ours = self.metadata.get(_META)
        found = ours.get("schema_version") if isinstance(ours, Mapping) else None
        return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    def refused(self, why: str) -> NodeStatus:
        """Return the state of a node that is kept out of its fleet."""
        return NodeStatus(
            id=self.id,
            fleet=self.fleet,
            connected=False,
            since=datetime.now(UTC),
            version=self.version,
            locality=self.locality,
            metadata=self.metadata,
            schema_version=self.schema_version,
            refused=why,
        )

    @classmethod
    def parse(cls, data: bytes) -> "Node":
        """Decode a serialised `envoy.config.core.v3.Node` (without its extensions, which would take 50 ms).

        Raises:
            Exception: It is none; betterproto2 raises what it likes.
        """
        message = EnvoyNode.parse(data)
        place = message.locality
        named = {} if place is None else {k: getattr(place, k) for k in ("region", "zone", "sub_zone")}
        return cls(
            id=message.id,
            fleet=message.cluster,
            version=_version(message),
            locality={key: value for key, value in named.items() if value},
            metadata={} if message.metadata is None else message.metadata.to_dict(),
        )


def _version(message: EnvoyNode) -> str | None:
    build = message.user_agent_build_version
    if build is not None and build.version is not None:
        number = build.version
        return f"{number.major_number}.{number.minor_number}.{number.patch}"
    return message.user_agent_version or None
