"""A draft: one transaction in the making."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from brownout.domain.base import Named
from brownout.domain.catalog import Catalog
from brownout.domain.changing import ByName, Changing
from brownout.domain.endpoint import Endpoint
from brownout.domain.revision import Action, Kind, Revision
from brownout.domain.stored import Damage, Stored

_Document = Mapping[str, Any] | None


class Draft:
    """Changes made to a catalog, each with its revision; nothing is stored yet.

    A change that changes nothing leaves no revision. Reading what is there costs the same after any number of
    changes, `catalog` as much as all that is in it.

    Attributes:
        revisions: What was changed, in order.
    """

    def __init__(self, catalog: Catalog, *, actor: str, at: datetime) -> None:
        self._changing = Changing(catalog)
        self.revisions: list[Revision] = []
        self._actor = actor
        self._at = at

    @property
    def catalog(self) -> Catalog:
        """Return the catalog with the changes made so far."""
        return self._changing.catalog

    @property
    def damaged(self) -> Mapping[tuple[Kind, str], Damage]:
        """Return the rows that are still damaged."""
        return self._changing.damaged

    def names(self, kind: Kind) -> ByName[Stored[Any]]:
        """Return the names of the profiles, upstreams or fleets that there are at any time."""
        return self._changing.names(kind)

    def endpoints(self, fleet: str) -> Mapping[str, Stored[Endpoint]]:
        """Return the endpoints of a fleet by name, in the fleet's order."""
        return self._changing.endpoints(fleet)

    def find(self, kind: Kind, key: str) -> Stored[Named] | None:
        """Return an entity as it is now."""
        return self._changing.find(kind, key)

    def put(self, key: str, entity: Named, *, action: Action | None = None) -> bool:
        """Set an entity and return whether that changes anything."""
        kind = entity.kind
        present = self.find(kind, key)
        damage = self.damaged.get((kind, key))
        if present is not None and damage is None and present.entity == entity:
            return False
        before = self._document(kind, key)
        if action is None:
            action = "create" if present is None and damage is None else "update"
        self._add(action, kind, key, (before, entity.document()), entity)
        return True

    def delete(self, kind: Kind, key: str) -> None:
        """Remove an entity that is there, a damaged one too; a fleet goes after its endpoints."""
        if kind == "fleet":
            for name in list(self.endpoints(key)):
                self.delete("endpoint", f"{key}/{name}")
            for damaged_kind, damaged_key in list(self.damaged):
                if damaged_kind == "endpoint" and damaged_key.startswith(f"{key}/"):
                    self.delete("endpoint", damaged_key)
        self._add("delete", kind, key, (self._document(kind, key), None))

    def order(self, fleet: str, names: Sequence[str], *, action: Action = "update") -> bool:
        """Order the endpoints of a fleet and return whether that changes anything."""
        present = list(self.endpoints(fleet))
        if present == list(names):
            return False
        self._add(action, "order", fleet, ({"endpoints": present}, {"endpoints": list(names)}))
        return True

    def halt(self, key: str, *, on: bool) -> bool:
        """Halt or resume a fleet or `ALL_FLEETS` and return whether that changes anything."""
        present = key in self._changing.halts
        if present == on:
            return False
        self._add("halt" if on else "resume", "halt", key, ({"halted": present}, {"halted": on}))
        return True

    def _document(self, kind: Kind, key: str) -> _Document:
        damage = self.damaged.get((kind, key))
        if damage is not None:
            return damage.document
        present = self.find(kind, key)
        return None if present is None else present.entity.document()

    def _add(
        self,
        action: Action,
        kind: Kind,
        key: str,
        content: tuple[_Document, _Document],
        entity: Named | None = None,
    ) -> None:
        number = self._changing.revision + 1
        revision = Revision(number, self._at, self._actor, action, kind, key, *content)
        self.revisions.append(revision)
        self._changing.take(revision, entity)
