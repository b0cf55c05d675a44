"""Commands on a draft: what may be changed, and what stands in the way."""

from typing import TypeVar, cast

from brownout.domain import (
    Action,
    Catalog,
    Conflict,
    Draft,
    FieldError,
    Fleet,
    Kind,
    Named,
    NotFound,
    StaleRevision,
    Stored,
    ValidationFailed,
)
from brownout.service.results import Written

M = TypeVar("M", bound=Named)


def put(
    draft: Draft, key: str, entity: M, *, if_match: int | None = None, action: Action | None = None
) -> Written[M]:
    """Create or replace an entity."""
    check_match(draft, entity.kind, key, if_match)
    present = draft.find(entity.kind, key)
    if isinstance(entity, Fleet) and present is not None:
        keep_mode(cast("Fleet", present.entity), entity)
    changed = draft.put(key, entity, action=action)
    stored = cast("Stored[M]", draft.find(entity.kind, key))
    return Written(stored, created=present is None, changed=changed)


def create(draft: Draft, key: str, entity: M) -> Stored[M]:
    """Create an entity whose name is not taken."""
    if draft.find(entity.kind, key) is not None:
        raise Conflict(f"there is a {entity.kind} {key!r} already")
    if (entity.kind, key) in draft.damaged:
        raise Conflict(f"there is a {entity.kind} {key!r} already, damaged: replace or delete it")
    return put(draft, key, entity).stored


def delete(draft: Draft, kind: Kind, key: str, *, if_match: int | None = None) -> None:
    """Delete an entity that nothing uses."""
    if draft.find(kind, key) is None and (kind, key) not in draft.damaged:
        raise NotFound(kind, key, draft.catalog.keys(kind))
    check_match(draft, kind, key, if_match)
    check_unused(draft.catalog, kind, key)
    draft.delete(kind, key)


def check_unused(catalog: Catalog, kind: Kind, key: str) -> None:
    """Raise Conflict when an endpoint refers to the entity."""
    used_by = [f"endpoint {each}" for each in catalog.users_of(kind, key)]
    if used_by:
        shown = ", ".join(used_by[:3]) + (f" and {len(used_by) - 3} more" if len(used_by) > 3 else "")
        raise Conflict(f"{kind} {key!r} is used by {shown}", used_by)


def fleet_of(draft: Draft, name: str) -> Fleet:
    """Return a fleet, to work on its endpoints."""
    stored = draft.names("fleet").get(name)
    if stored is None:
        raise NotFound("fleet", name, draft.names("fleet"))
    return cast("Fleet", stored.entity)


def check_match(draft: Draft, kind: Kind, key: str, if_match: int | None) -> None:
    """Raise StaleRevision when the entity is not at the revision that the caller saw."""
    present = draft.find(kind, key)
    revision = 0 if present is None else present.revision
    if if_match is not None and if_match != revision:
        raise StaleRevision(f"{kind} {key!r}", if_match, revision)


def keep_mode(present: Fleet, wanted: Fleet) -> None:
    """Raise ValidationFailed when the mode would change."""
    if present.mode != wanted.mode:
        message = (
            f'expected "{present.mode}": the mode of a fleet never changes (delete and create it instead)'
        )
        raise ValidationFailed([FieldError("mode", message)])
