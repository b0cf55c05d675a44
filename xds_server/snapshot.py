"""A snapshot: all resources that one node of a fleet should have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xds_server.resource_set import EMPTY, NO_NAMES, ResourceSet
from xds_server.types import TypeInfo


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The resources of every type, built once and shared by all streams that get them.

    Attributes:
        sets: The resources by type; a type that is not in it has none.
        routed: The clusters that the routes refer to.
    """

    sets: Mapping[TypeInfo, ResourceSet] = field(default_factory=dict)
    routed: frozenset[str] = NO_NAMES

    def __getitem__(self, kind: TypeInfo) -> ResourceSet:
        return self.sets.get(kind, EMPTY)

    def same_as(self, other: "Snapshot") -> bool:
        """Whether both have the very same sets, which is how unchanged content is carried on."""
        kinds = self.sets.keys() | other.sets.keys()
        return all(self[kind] is other[kind] for kind in kinds)
