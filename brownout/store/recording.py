"""From revisions to rows, inside one transaction."""

import json
from collections.abc import Iterable
from typing import Any, cast

from sqlalchemy import func
from sqlmodel import Session, col, delete, select, update

from brownout.domain import Action, Catalog, Kind, Revision
from brownout.store.loading import to_text
from brownout.store.tables import (
    EndpointRow,
    FleetRow,
    HaltRow,
    ProfileRow,
    RevisionRow,
    Table,
    UpstreamRow,
)


def record(session: Session, revisions: Iterable[Revision], base: Catalog) -> None:
    """Write the revisions and what they changed; `base` is the catalog before them."""
    for revision in revisions:
        if _misplaced(revision, base):
            _forget(session, revision)
        _apply(session, revision)
        session.add(_row(revision))
        session.flush()


def _misplaced(revision: Revision, base: Catalog) -> bool:
    """Whether a damaged row has a position that the catalog, which left it out, does not know."""
    key = (revision.kind, revision.key)
    return revision.kind == "endpoint" and key in base.damaged and base.find(*key) is None


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
    if revision.kind in {"endpoint", "order"}:
        fleet = revision.key.partition("/")[0]
        session.exec(
            update(FleetRow).where(col(FleetRow.name) == fleet).values(endpoints_revision=revision.number)
        )


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
                fleet=fleet, name=name, position=_last_position(session, fleet) + 1, **values
            )
    for column, value in values.items():
        setattr(row, column, value)
    session.add(row)


def _last_position(session: Session, fleet: str) -> int:
    statement = select(func.max(EndpointRow.position)).where(EndpointRow.fleet == fleet)
    return session.exec(statement).one() or 0


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
        None if row.before is None else json.loads(row.before),
        None if row.after is None else json.loads(row.after),
    )
