"""The audit trail: every revision that was ever committed."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Engine, func
from sqlmodel import Session, col, or_, select

from brownout.domain import ALL_FLEETS, Endpoint, Fleet, Kind, NotFound, Profile, Revision
from brownout.store.documents import from_text
from brownout.store.recording import revision_of
from brownout.store.tables import RevisionRow


@dataclass(frozen=True, slots=True)
class FormerFleet:
    """A fleet with its endpoints in order, as it was."""

    fleet: Fleet
    endpoints: tuple[Endpoint, ...]


class History:
    """Reads revisions; any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self,
        *,
        kind: Kind | None = None,
        key: str | None = None,
        fleet: str | None = None,
        below: int | None = None,
        limit: int = 100,
    ) -> list[Revision]:
        """Return the newest first, numbers below `below` only.

        With `kind` and `key` those of one thing; with `fleet` those of the fleet, its endpoints, their order
        and every halt that held for it.
        """
        query = select(RevisionRow)
        if kind is not None:
            query = query.where(RevisionRow.kind == kind)
        if key is not None:
            query = query.where(RevisionRow.key == key)
        if fleet is not None:
            query = query.where(or_(RevisionRow.fleet == fleet, RevisionRow.fleet == ALL_FLEETS))
        if below is not None:
            query = query.where(col(RevisionRow.number) < below)
        with Session(self._engine) as session:
            rows = session.exec(query.order_by(col(RevisionRow.number).desc()).limit(limit))
            return [revision_of(row) for row in rows]

    def profile(self, name: str, at: int) -> Profile:
        """Return the profile as it was at revision `at`.

        Raises:
            NotFound: It did not exist then, or there has been no such revision yet.
            ValidationFailed: This version cannot read what it was.
        """
        query = (
            select(RevisionRow)
            .where(RevisionRow.kind == "profile", RevisionRow.key == name, col(RevisionRow.number) <= at)
            .order_by(col(RevisionRow.number).desc())
            .limit(1)
        )
        with Session(self._engine) as session:
            _check_reached(session, at)
            row = session.exec(query).first()
            after = None if row is None else revision_of(row).after
        if after is None:
            raise NotFound(f"revision {at} of profile", name)
        return Profile.load(after)

    def fleet(self, name: str, at: int) -> FormerFleet:
        """Return the fleet and its endpoints as they were at revision `at`.

        Raises:
            NotFound: It did not exist then, or there has been no such revision yet.
            ValidationFailed: This version cannot read what it was.
        """
        query = (
            select(RevisionRow.kind, RevisionRow.key, RevisionRow.after)
            .where(RevisionRow.fleet == name, col(RevisionRow.number) <= at)
            .order_by(col(RevisionRow.number))
        )
        with Session(self._engine) as session:
            _check_reached(session, at)
            fleet, endpoints = _replayed(session.exec(query))
        if fleet is None:
            raise NotFound(f"revision {at} of fleet", name)
        return FormerFleet(
            Fleet.load(from_text(fleet)),
            tuple(Endpoint.load(from_text(each)) for each in endpoints.values()),
        )


def _check_reached(session: Session, at: int) -> None:
    newest = session.exec(select(func.max(RevisionRow.number))).one() or 0
    if at > newest:
        raise NotFound("revision", str(at), [str(newest)])


def _replayed(rows: Iterable[tuple[str, str, str | None]]) -> tuple[str | None, dict[str, str]]:
    """Return the last document of the fleet and of each of its endpoints, these in order."""
    fleet: str | None = None
    endpoints: dict[str, str] = {}
    for kind, key, after in rows:
        if kind == "fleet":
            fleet = after
        elif kind == "order":
            names = from_text(after or "{}")["endpoints"]
            endpoints = {name: endpoints[name] for name in names if name in endpoints}
        elif kind == "endpoint":
            name = key.partition("/")[2]
            if after is None:
                endpoints.pop(name, None)
            else:
                endpoints[name] = after
    return fleet, endpoints
