"""A catalog while it changes: however many changes, each mapping is copied, and put in order, once."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from brownout.domain.base import Named
from brownout.domain.endpoint import Endpoint
from brownout.domain.revision import Kind, Revision
from brownout.domain.stored import EndpointList, Stored

if TYPE_CHECKING:
    from brownout.domain.catalog import Catalog

V = TypeVar("V")

_PLACES: Mapping[Kind, str] = {"profile": "profiles", "upstream": "upstreams", "fleet": "fleets"}


class ByName(Generic[V]):
    """A mapping in the order of its names: the one that was given until something in it changes."""

    def __init__(self, mapping: Mapping[str, V]) -> None:
        self._given = mapping
        self._own: dict[str, V] | None = None
        self._in_order = True

    def __contains__(self, name: object) -> bool:
        return name in self._present

    def __iter__(self) -> Iterator[str]:
        return iter(self._present)

    def get(self, name: str) -> V | None:
        """Return what `name` stands for."""
        return self._present.get(name)

    def set(self, name: str, value: V | None) -> None:
        """Let `name` stand for `value`, or for nothing."""
        if self._own is None:
            self._own = dict(self._given)
        if value is None:
            self._own.pop(name, None)
        else:
            self._in_order = self._in_order and name in self._own
            self._own[name] = value

    def frozen(self) -> Mapping[str, V]:
        """Return the mapping as it is now, which later changes leave alone."""
        if self._own is not None:
            self._given = self._own if self._in_order else dict(sorted(self._own.items()))
            self._own, self._in_order = None, True
        return self._given

    @property
    def _present(self) -> Mapping[str, V]:
        return self._given if self._own is None else self._own


class Changing:
    """Takes revisions in, one after the other; `catalog` is what comes of them."""

    def __init__(self, base: "Catalog") -> None:
        self._catalog = base
        self._named: dict[Kind, ByName[Stored[Any]]] = {
            kind: ByName(getattr(base, place)) for kind, place in _PLACES.items()
        }
        self._lists = ByName(base.lists)
        self._entries: dict[str, dict[str, Stored[Endpoint]]] = {}  # of fleets that were looked into
        self._touched: dict[str, int] = {}  # the revisions of lists that are in `_entries` only
        self.halts = base.halts
        self.damaged = base.damaged
        self.revision = base.revision

    @property
    def catalog(self) -> "Catalog":
        """Return the catalog as it is now, which shares every object that did not change."""
        if self._catalog.revision == self.revision:
            return self._catalog
        for fleet, number in self._touched.items():
            self._lists.set(fleet, EndpointList(tuple(self._entries[fleet].values()), number))
        self._touched.clear()
        self._catalog = replace(
            self._catalog,
            revision=self.revision,
            lists=self._lists.frozen(),
            halts=self.halts,
            damaged=self.damaged,
            **{place: self._named[kind].frozen() for kind, place in _PLACES.items()},
        )
        return self._catalog

    def names(self, kind: Kind) -> ByName[Stored[Any]]:
        """Return the profiles, upstreams or fleets as they are at any time."""
        return self._named[kind]

    def endpoints(self, fleet: str) -> Mapping[str, Stored[Endpoint]]:
        """Return the endpoints of a fleet by name, in the fleet's order."""
        return self._of(fleet)

    def find(self, kind: Kind, key: str) -> Stored[Named] | None:
        """Return the entity that revisions call `kind` and `key`."""
        if kind == "endpoint":
            fleet, _, name = key.partition("/")
            return self._of(fleet).get(name)
        return self._named[kind].get(key) if kind in self._named else None

    def take(self, revision: Revision, entity: Named | None) -> None:
        """Take in a revision, of which `entity` is what `after` documents."""
        number, kind, key = revision.number, revision.kind, revision.key
        self.revision = number
        if kind == "halt":
            on = revision.action == "halt"
            self.halts = self.halts | {key} if on else self.halts - {key}
            return
        if (kind, key) in self.damaged:
            self.damaged = {each: damage for each, damage in self.damaged.items() if each != (kind, key)}
        stored = None if entity is None else Stored(entity, number)
        match kind:
            case "endpoint":
                fleet, _, name = key.partition("/")
                self._place(fleet, name, cast("Stored[Endpoint] | None", stored))
                self._touched[fleet] = number
            case "order":
                entries, names = self._of(key), (revision.after or {})["endpoints"]
                self._entries[key] = {name: entries[name] for name in names if name in entries}
                self._touched[key] = number
            case _:
                self._named[kind].set(key, stored)
                if kind == "fleet":
                    self._keep_list(key, number, there=stored is not None)

    def _of(self, fleet: str) -> dict[str, Stored[Endpoint]]:
        found = self._entries.get(fleet)
        if found is None:
            listed = self._lists.get(fleet)
            items = () if listed is None else listed.items
            found = self._entries[fleet] = {each.entity.name: each for each in items}
        return found

    def _place(self, fleet: str, name: str, stored: Stored[Endpoint] | None) -> None:
        """Replace an entry in its place, append it, or take it away."""
        entries = self._of(fleet)
        if stored is None:
            entries.pop(name, None)
        else:
            entries[name] = stored

    def _keep_list(self, fleet: str, number: int, *, there: bool) -> None:
        """Give a new fleet a list, and take it from one that is gone, with its halt."""
        if not there:
            self._lists.set(fleet, None)
            self._entries.pop(fleet, None)
            self._touched.pop(fleet, None)
            self.halts -= {fleet}
        elif fleet not in self._lists and fleet not in self._touched:
            self._lists.set(fleet, EndpointList(revision=number))
