"""From the configuration that is to the one that is wanted."""

from collections.abc import Iterable

from brownout.domain import Action, Conflict, Draft, FieldError, Fleet, Kind, ValidationFailed, settled
from brownout.domain.problems import Problems, join
from brownout.service import edits
from brownout.service.configuration import Wanted, WantedFleet
from brownout.store import FormerFleet


def reconcile(draft: Draft, wanted: Wanted, *, prune: bool) -> None:
    """Create and update what is wanted, in the order of the references; with `prune` delete the rest.

    What a section does not name is deleted only when the document has that section.

    Raises:
        ValidationFailed: Every reference to nothing, every field without meaning in its fleet's mode.
        Conflict: What would be deleted is used.
    """
    for profile in wanted.profiles or ():
        draft.put(profile.name, profile)
    for upstream in wanted.upstreams or ():
        draft.put(upstream.name, upstream)
    problems = Problems()
    for each in wanted.fleets or ():
        with problems:
            _put_fleet(draft, each.fleet, path=f"{each.path}.mode")
            _put_list(draft, each, problems, prune=prune)
    problems.check()
    if not prune:
        return
    if wanted.fleets is not None:
        _prune(draft, "fleet", [each.name for each in wanted.fleets])
    if wanted.upstreams is not None:
        _prune(draft, "upstream", [each.name for each in wanted.upstreams])
    if wanted.profiles is not None:
        _prune(draft, "profile", [each.name for each in wanted.profiles])


def restore(draft: Draft, former: FormerFleet, *, if_match: int | None) -> None:
    """Make a fleet and its list of endpoints what they were.

    Raises:
        Conflict: What it needs is no longer there.
    """
    name = former.fleet.name
    edits.check_match(draft, "fleet", name, if_match)
    problems = Problems()
    with problems:
        _put_fleet(draft, former.fleet, path="mode", action="rollback")
        wanted = WantedFleet(former.fleet, former.endpoints, "")
        _put_list(draft, wanted, problems, prune=True, action="rollback")
    if problems.errors:
        reasons = "; ".join(str(each) for each in problems.errors)
        raise Conflict(f"fleet {name!r} cannot be what it was: {reasons}")


def _put_fleet(draft: Draft, fleet: Fleet, *, path: str, action: Action | None = None) -> None:
    try:
        edits.put(draft, fleet.name, fleet, action=action)
    except ValidationFailed as failed:
        raise ValidationFailed(FieldError(path, each.message) for each in failed.errors) from None


def _put_list(
    draft: Draft, wanted: WantedFleet, problems: Problems, *, prune: bool, action: Action | None = None
) -> None:
    if wanted.endpoints is None:
        return
    fleet, names = wanted.name, [each.name for each in wanted.endpoints]
    if prune:
        kept = {f"{fleet}/{name}" for name in names}
        present = [f"{fleet}/{name}" for name in draft.endpoints(fleet)]
        for key in sorted({*present, *_damaged(draft, "endpoint")} - kept):
            if key.startswith(f"{fleet}/"):
                draft.delete("endpoint", key)
    profiles, upstreams = draft.names("profile"), draft.names("upstream")
    for index, endpoint in enumerate(wanted.endpoints):
        path = join(wanted.path, f"endpoints[{index}]")
        with problems:
            sound = settled(endpoint, wanted.fleet, profiles=profiles, upstreams=upstreams, path=path)
            draft.put(f"{fleet}/{endpoint.name}", sound, action=action)
    if not problems.errors:
        draft.order(fleet, _merged(draft.endpoints(fleet), names))


def _merged(present: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return the names in an order that has those wanted as wanted, and leaves all others where they are."""
    wanted = list(wanted)
    listed, following = set(wanted), iter(wanted)
    return [next(following) if name in listed else name for name in present]


def _prune(draft: Draft, kind: Kind, wanted: Iterable[str]) -> None:
    catalog = draft.catalog
    for key in sorted({*catalog.keys(kind), *_damaged(draft, kind)} - {*wanted}):
        edits.check_unused(catalog, kind, key)
        draft.delete(kind, key)


def _damaged(draft: Draft, kind: Kind) -> list[str]:
    return [key for damaged_kind, key in draft.damaged if damaged_kind == kind]
