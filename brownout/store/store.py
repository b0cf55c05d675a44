"""The store: the configuration on disk, with one writer."""

import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection, func, text
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, col, select

from brownout.domain import Catalog, Draft, Revision, ValidationFailed
from brownout.store.engine import begin_write, database_url, make_engine, sqlite_path
from brownout.store.errors import StoreUnavailable
from brownout.store.following import CHANNEL, occasions
from brownout.store.history import History
from brownout.store.loading import load_catalog
from brownout.store.lock import FileLock
from brownout.store.recording import record, revision_of
from brownout.store.schema import check_exists, check_schema
from brownout.store.tables import RevisionRow

R = TypeVar("R")


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """The configuration in a database; synchronous, for any number of threads, of which one writes at a time.

    Raises, when it is opened:
        StoreInUse: Another process has the SQLite file.
        SchemaMismatch: There is no such file, or the schema is not that of this version.
        StoreUnavailable: The database cannot be read.
    """

    def __init__(self, url: str, *, clock: Callable[[], datetime] = _now) -> None:
        self.url = database_url(url)
        self._clock = clock
        self._writer = threading.Lock()
        path = sqlite_path(self.url)
        if path is not None:
            check_exists(path)
        self._file_lock = None if path is None else FileLock(path)
        self._engine = make_engine(self.url)
        try:
            with _available():
                check_schema(self._engine)
            self._catalog = self._load()
        except BaseException:
            self.close()
            raise
        self.history = History(self._engine)

    @property
    def catalog(self) -> Catalog:
        """Return the catalog as of the last transaction seen."""
        return self._catalog

    @property
    def shared(self) -> bool:
        """Whether other processes may write too (PostgreSQL)."""
        return self._file_lock is None

    def load(self) -> Catalog:
        """Read everything anew."""
        with self._writer:
            self._catalog = self._load()
            return self._catalog

    def write(self, command: Callable[[Draft], R], *, actor: str) -> R:
        """Run `command` on a draft of the present catalog and commit what it changed, all or nothing.

        Within `command` nobody else can write. When this returns the changes are durable and `catalog` has
        them; when `command` raises, or changes nothing, nothing is committed.

        Raises:
            StoreUnavailable: The database failed.
        """
        with self._writer, _available(), self._engine.connect() as connection:
            begin_write(connection)
            with Session(connection) as session:
                self._catalog = base = self._caught_up(session)
                draft = Draft(base, actor=actor, at=self._clock())
                result = command(draft)
                if not draft.revisions:
                    return result
                record(session, draft.revisions, base)
                _notify(connection, draft.catalog.revision)
                # What refers to a row that was damaged may be sound again.
                catalog = load_catalog(session) if _heals(base, draft.revisions) else draft.catalog
                connection.commit()
            self._catalog = catalog
            return result

    def catch_up(self) -> Catalog:
        """Take in what other processes committed."""
        with self._writer, _available(), self._reading() as session:
            self._catalog = self._caught_up(session)
            return self._catalog

    def others(self, *, poll_seconds: float) -> AsyncGenerator[None, None]:
        """Yield whenever another process may have committed something to catch up with."""
        return occasions(self.url, poll_seconds=poll_seconds)

    def close(self) -> None:
        """Close all connections and let other processes have the file."""
        self._engine.dispose()
        if self._file_lock is not None:
            self._file_lock.release()
            self._file_lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _load(self) -> Catalog:
        with _available(), self._reading() as session:
            return load_catalog(session)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        """Give a session that sees one state of the database throughout."""
        with self._engine.connect() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            with Session(connection) as session:
                yield session

    def _caught_up(self, session: Session) -> Catalog:
        present = session.exec(select(func.max(RevisionRow.number))).one() or 0
        catalog = self._catalog
        if present == catalog.revision:
            return catalog
        newer = select(RevisionRow).where(col(RevisionRow.number) > catalog.revision)
        rows = session.exec(newer.order_by(col(RevisionRow.number))).all()
        return _applied(catalog, [revision_of(row) for row in rows], present) or load_catalog(session)


def _applied(catalog: Catalog, revisions: Sequence[Revision], present: int) -> Catalog | None:
    """Return the catalog after the revisions; None when it must be read anew instead."""
    if present != catalog.revision + len(revisions) or _heals(catalog, revisions):
        return None
    try:
        return catalog.apply(*revisions)
    except (KeyError, ValidationFailed):  # of a newer version, or damaged: reading the rows tells
        return None


def _heals(catalog: Catalog, revisions: Sequence[Revision]) -> bool:
    """Whether a revision is about what is damaged, or is a fleet's that damaged endpoints belong to."""
    about = {(each.kind, each.key) for each in revisions}
    return any(
        damaged in about or ("fleet", damaged[1].partition("/")[0]) in about for damaged in catalog.damaged
    )


def _notify(connection: Connection, revision: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_notify(:channel, :number)"), {"channel": CHANNEL, "number": str(revision)}
        )


@contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise StoreUnavailable(f"the database cannot be used: {reason}") from error
