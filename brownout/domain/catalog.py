"""The catalog: everything that is configured, in memory, immutable."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from brownout.domain.base import Named
from brownout.domain.changing import Changing
from brownout.domain.endpoint import Endpoint
from brownout.domain.fleet import Fleet
from brownout.domain.profile import Profile
from brownout.domain.revision import Kind, Revision
from brownout.domain.stored import Damage, EndpointList, Stored
from brownout.domain.upstream import Upstream

ALL_FLEETS = "*"
"""The key under which a halt of all fleets is kept."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything that is configured, as of one revision.

    A new revision makes a new catalog that shares every object that it does not change: compare with `is`.
    Treat the mappings as read-only.

    Attributes:
        revision: Number of the last revision in it; 0 when nothing was ever committed.
        profiles: By name, in the order of the names, as are the others.
        upstreams: By name.
        fleets: By name.
        lists: The endpoints of every fleet, by the fleet's name.
        halts: Names of halted fleets; `ALL_FLEETS` when all are.
        damaged: Rows that were left out, by (kind, key).
    """

    revision: int = 0
    profiles: Mapping[str, Stored[Profile]] = field(default_factory=dict)
    upstreams: Mapping[str, Stored[Upstream]] = field(default_factory=dict)
    fleets: Mapping[str, Stored[Fleet]] = field(default_factory=dict)
    lists: Mapping[str, EndpointList] = field(default_factory=dict)
    halts: frozenset[str] = frozenset()
    damaged: Mapping[tuple[Kind, str], Damage] = field(default_factory=dict)

    def endpoints(self, fleet: str) -> tuple[Stored[Endpoint], ...]:
        """Return the endpoints of `fleet` in order; empty when there is no such fleet."""
        found = self.lists.get(fleet)
        return () if found is None else found.items

    def endpoint(self, fleet: str, name: str) -> Stored[Endpoint] | None:
        """Return one endpoint."""
        return next((each for each in self.endpoints(fleet) if each.entity.name == name), None)

    def find(self, kind: Kind, key: str) -> Stored[Named] | None:
        """Return the entity that revisions call `kind` and `key`."""
        match kind:
            case "profile":
                return self.profiles.get(key)
            case "upstream":
                return self.upstreams.get(key)
            case "fleet":
                return self.fleets.get(key)
            case "endpoint":
                fleet, _, name = key.partition("/")
                return self.endpoint(fleet, name)
            case _:
                return None

    def keys(self, kind: Kind) -> Iterable[str]:
        """Return all keys that `find` knows of a kind."""
        match kind:
            case "profile":
                return self.profiles
            case "upstream":
                return self.upstreams
            case "fleet":
                return self.fleets
            case "endpoint":
                return (
                    f"{fleet}/{each.entity.name}"
                    for fleet, found in self.lists.items()
                    for each in found.items
                )
            case _:
                return ()

    def halted(self, fleet: str) -> bool:
        """Whether `fleet` injects nothing, by its own halt or by the halt of all."""
        return fleet in self.halts or ALL_FLEETS in self.halts

    def users_of(self, kind: Kind, name: str) -> Iterator[str]:
        """Yield the keys (`edge/pay`) of the endpoints that refer to the profile or upstream `name`."""
        if kind not in {"profile", "upstream"}:
            return
        for fleet, found in self.lists.items():
            for each in found.items:
                fault = each.entity.fault
                if name == (each.entity.upstream if kind == "upstream" else fault and fault.profile):
                    yield f"{fleet}/{each.entity.name}"
        for damage in self.damaged.values():
            if (kind, name) in damage.uses:
                yield damage.key

    def apply(self, *revisions: Revision) -> "Catalog":
        """Return the catalog after `revisions`; only what they changed is built anew.

        Raises:
            ValidationFailed: A revision holds a document that this version cannot read.
        """
        changing = Changing(self)
        for revision in revisions:
            changing.take(revision, _decode(revision))
        return changing.catalog


_ENTITIES: Mapping[Kind, type[Named]] = {
    "profile": Profile,
    "upstream": Upstream,
    "fleet": Fleet,
    "endpoint": Endpoint,
}


def _decode(revision: Revision) -> Named | None:
    model = _ENTITIES.get(revision.kind)
    return None if model is None or revision.after is None else model.load(revision.after)
