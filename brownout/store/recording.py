"""From revisions to rows, inside one transaction."""

from collections.abc import Sequence
from typing import Any, cast

from sqlmodel import Session, col, delete, select, update

from brownout.domain import Action, Catalog, Kind, Revision, ValidationFailed
from brownout.store.documents import from_text, to_text
from brownout.store.tables import (
    EndpointRow,
    FleetRow,
    HaltRow,
    ProfileRow,
    RevisionRow,
    Table,
    UpstreamRow,
)


def record(session: Session, revisions: Sequence[Revision], base: Catalog) -> None:
    """Write the revisions and what they changed; `base` is the catalog before them."""
    lists: dict[str, int] = {}
    # Damaged rows have positions that the catalog, which left them out, does not know.
    misplaced = {key for kind, key in base.damaged if kind == "endpoint" and base.find(kind, key) is None}
    for revision in revisions:
        if revision.kind == "endpoint" and revision.key in misplaced:
            misplaced.remove(revision.key)
            _forget(session, revision)
        _apply(session, revision)
        session.flush()
        if revision.kind in {"endpoint", "order"}:
            lists[revision.key.partition("/")[0]] = revision.number
        elif revision.kind == "fleet" and revision.after is None:
            lists.pop(revision.key, None)
    for fleet, number in lists.items():
        session.exec(update(FleetRow).where(col(FleetRow.name) == fleet).values(endpoints_revision=number))
    session.add_all(_row(revision) for revision in revisions)
    session.flush()


def _apply(session: Session, revision: Revision) -> None:
    match revision.kind:
        case "halt":
            session.exec(delete(HaltRow).where(col(HaltRow.key) == revision.key))
            if revision.action == "halt":
                session.add(HaltRow(key=revision.key, revision=revision.number))
        case "order":
            _order(session, revision)
        case _ if revision.after is None:
            _forget(session, revision)
        case _:
            _store(session, revision)


def _store(session: Session, revision: Revision) -> None:
    key, number = revision.key, revision.number
    after = revision.after or {}
    values: dict[str, Any] = {"revision": number, "document": to_text(after)}
    row: Table | None
    match revision.kind:
        case "profile":
            row = session.get(ProfileRow, key) or ProfileRow(name=key, **values)
        case "upstream":
            row = session.get(UpstreamRow, key) or UpstreamRow(name=key, **values)
        case "fleet":
            row = session.get(FleetRow, key) or FleetRow(name=key, endpoints_revision=number, **values)
        case _:
            fleet, _, name = key.partition("/")
            values |= {"upstream": after["upstream"], "profile": (after["fault"] or {}).get("profile")}
            row = session.get(EndpointRow, (fleet, name)) or EndpointRow(
                fleet=fleet, name=name, position=number, **values
            )
    for column, value in values.items():
        setattr(row, column, value)
    session.add(row)


def _order(session: Session, revision: Revision) -> None:
    rows = {
        row.name: row for row in session.exec(select(EndpointRow).where(EndpointRow.fleet == revision.key))
    }
    for position, name in enumerate((revision.after or {})["endpoints"], start=1):
        rows[name].position = position


def _forget(session: Session, revision: Revision) -> None:
    key = revision.key
    match revision.kind:
        case "profile":
            session.exec(delete(ProfileRow).where(col(ProfileRow.name) == key))
        case "upstream":
            session.exec(delete(UpstreamRow).where(col(UpstreamRow.name) == key))
        case "fleet":
            session.exec(delete(HaltRow).where(col(HaltRow.key) == key))
            session.exec(delete(FleetRow).where(col(FleetRow.name) == key))
        case _:
            fleet, _, name = key.partition("/")
            here = (col(EndpointRow.fleet) == fleet, col(EndpointRow.name) == name)
            session.exec(delete(EndpointRow).where(*here))


def _row(revision: Revision) -> RevisionRow:
    belongs = revision.kind in {"fleet", "endpoint", "order", "halt"}
    return RevisionRow(
        number=revision.number,
        at=revision.at,
        actor=revision.actor,
        action=revision.action,
        kind=revision.kind,
        key=revision.key,
        fleet=revision.key.partition("/")[0] if belongs else None,
        before=None if revision.before is None else to_text(revision.before),
        after=None if revision.after is None else to_text(revision.after),
    )


def revision_of(row: RevisionRow) -> Revision:
    """Return the revision that a row keeps."""
    return Revision(
        row.number,
        row.at,
        row.actor,
        cast("Action", row.action),
        cast("Kind", row.kind),
        row.key,
        None if row.before is None else _shown(row.before),
        None if row.after is None else _shown(row.after),
    )


def _shown(text: str) -> Any:
    """Return what a revision documents; damaged text is shown as such, which is no entity's document."""
    try:
        return from_text(text)
    except ValidationFailed:
        return {"unreadable": str(text)}
