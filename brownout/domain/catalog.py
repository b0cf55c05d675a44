"""The catalog: everything that is configured, in memory, immutable."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from brownout.domain.base import Named
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

    def apply(self, revision: Revision) -> "Catalog":
        """Return the catalog after `revision`; only what that changed is built anew.

        Raises:
            ValidationFailed: The revision holds a document that this version cannot read.
        """
        return self.evolve(revision, _decode(revision))

    def evolve(self, revision: Revision, entity: Named | None) -> "Catalog":
        """Do what `apply` does when the entity of `revision.after` is already at hand."""
        if revision.kind == "halt":
            on = revision.action == "halt"
            halts = self.halts | {revision.key} if on else self.halts - {revision.key}
            return replace(self, revision=revision.number, halts=halts)
        damaged = self.damaged
        if (revision.kind, revision.key) in damaged:
            damaged = {key: each for key, each in damaged.items() if key != (revision.kind, revision.key)}
        changed = self._changed(revision, entity)
        return replace(self, revision=revision.number, damaged=damaged, **changed)

    def _changed(self, revision: Revision, entity: Named | None) -> dict[str, Any]:
        number, key = revision.number, revision.key
        stored = None if entity is None else Stored(entity, number)
        match revision.kind:
            case "profile":
                return {"profiles": _with(self.profiles, key, stored)}
            case "upstream":
                return {"upstreams": _with(self.upstreams, key, stored)}
            case "fleet":
                listed = None if stored is None else self.lists.get(key, EndpointList(revision=number))
                return {
                    "fleets": _with(self.fleets, key, stored),
                    "lists": _with(self.lists, key, listed),
                    "halts": self.halts if stored is not None else self.halts - {key},
                }
            case "endpoint":
                fleet, _, name = key.partition("/")
                items = _placed(self.endpoints(fleet), name, cast("Stored[Endpoint] | None", stored))
                return {"lists": {**self.lists, fleet: EndpointList(items, number)}}
            case _:
                names = (revision.after or {})["endpoints"]
                by_name = {each.entity.name: each for each in self.endpoints(key)}
                items = tuple(by_name[name] for name in names if name in by_name)
                return {"lists": {**self.lists, key: EndpointList(items, number)}}


_ENTITIES: Mapping[Kind, type[Named]] = {
    "profile": Profile,
    "upstream": Upstream,
    "fleet": Fleet,
    "endpoint": Endpoint,
}


def _decode(revision: Revision) -> Named | None:
    model = _ENTITIES.get(revision.kind)
    return None if model is None or revision.after is None else model.load(revision.after)


V = TypeVar("V")


def _with(mapping: Mapping[str, V], key: str, value: V | None) -> Mapping[str, V]:
    """Return the mapping with `key` set, or without it when `value` is None; new names go to their place."""
    if value is None:
        return {name: each for name, each in mapping.items() if name != key}
    if key in mapping:
        return {**mapping, key: value}
    return dict(sorted({**mapping, key: value}.items()))


def _placed(
    items: tuple[Stored[Endpoint], ...], name: str, stored: Stored[Endpoint] | None
) -> tuple[Stored[Endpoint], ...]:
    """Return the list with the entry `name` replaced in its place, appended when new, or left out."""
    place = next((index for index, each in enumerate(items) if each.entity.name == name), len(items))
    new = () if stored is None else (stored,)
    return (*items[:place], *new, *items[place + 1 :])
