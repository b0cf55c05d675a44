"""A draft: one transaction in the making."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from brownout.domain.base import Named
from brownout.domain.catalog import Catalog
from brownout.domain.revision import Action, Kind, Revision

_Document = Mapping[str, Any] | None


class Draft:
    """Changes made to a catalog, each with its revision; nothing is stored yet.

    A change that changes nothing leaves no revision.

    Attributes:
        catalog: The catalog with the changes made so far.
        revisions: What was changed, in order.
    """

    def __init__(self, catalog: Catalog, *, actor: str, at: datetime) -> None:
        self.catalog = catalog
        self.revisions: list[Revision] = []
        self._actor = actor
        self._at = at

    def put(self, key: str, entity: Named, *, action: Action | None = None) -> bool:
        """Set an entity and return whether that changes anything."""
        kind = entity.kind
        present = self.catalog.find(kind, key)
        damage = self.catalog.damaged.get((kind, key))
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
            for each in self.catalog.endpoints(key):
                self.delete("endpoint", f"{key}/{each.entity.name}")
            for damaged_kind, damaged_key in list(self.catalog.damaged):
                if damaged_kind == "endpoint" and damaged_key.startswith(f"{key}/"):
                    self.delete("endpoint", damaged_key)
        self._add("delete", kind, key, (self._document(kind, key), None))

    def order(self, fleet: str, names: Sequence[str], *, action: Action = "update") -> bool:
        """Order the endpoints of a fleet and return whether that changes anything."""
        present = [each.entity.name for each in self.catalog.endpoints(fleet)]
        if present == list(names):
            return False
        self._add(action, "order", fleet, ({"endpoints": present}, {"endpoints": list(names)}))
        return True

    def halt(self, key: str, *, on: bool) -> bool:
        """Halt or resume a fleet or `ALL_FLEETS` and return whether that changes anything."""
        present = key in self.catalog.halts
        if present == on:
            return False
        self._add("halt" if on else "resume", "halt", key, ({"halted": present}, {"halted": on}))
        return True

    def _document(self, kind: Kind, key: str) -> _Document:
        damage = self.catalog.damaged.get((kind, key))
        if damage is not None:
            return damage.document
        present = self.catalog.find(kind, key)
        return None if present is None else present.entity.document()

    def _add(
        self,
        action: Action,
        kind: Kind,
        key: str,
        content: tuple[_Document, _Document],
        entity: Named | None = None,
    ) -> None:
        number = self.catalog.revision + 1
        revision = Revision(number, self._at, self._actor, action, kind, key, *content)
        self.revisions.append(revision)
        self.catalog = self.catalog.evolve(revision, entity)
