"""The tables. Documents are JSON text: the store keeps what the domain says, on both databases."""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    ForeignKeyConstraint,
    Index,
    MetaData,
    Text,
    TypeDecorator,
)
from sqlmodel import Field, SQLModel

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time in UTC (SQLite keeps none of the zone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn it to UTC."""
        del dialect
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Say that it is UTC."""
        del dialect
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


class Table(SQLModel):
    """The base of the tables."""

    metadata = metadata


class ProfileRow(Table, table=True):
    """A profile."""

    __tablename__ = "profiles"
    name: str = Field(primary_key=True, sa_type=Text)
    revision: int = Field(sa_type=BigInteger)
    document: str = Field(sa_type=Text)


class UpstreamRow(Table, table=True):
    """An upstream."""

    __tablename__ = "upstreams"
    name: str = Field(primary_key=True, sa_type=Text)
    revision: int = Field(sa_type=BigInteger)
    document: str = Field(sa_type=Text)


class FleetRow(Table, table=True):
    """A fleet; `endpoints_revision` last changed its list of endpoints."""

    __tablename__ = "fleets"
    name: str = Field(primary_key=True, sa_type=Text)
    revision: int = Field(sa_type=BigInteger)
    endpoints_revision: int = Field(sa_type=BigInteger)
    document: str = Field(sa_type=Text)


class EndpointRow(Table, table=True):
    """An endpoint; `position` orders a fleet's, the references repeat its document for foreign keys.

    A new one takes its revision for a position, which is above all others; ordering gives 1, 2, 3 and so on.
    """

    __tablename__ = "endpoints"
    __table_args__ = (
        ForeignKeyConstraint(["fleet"], ["fleets.name"]),
        ForeignKeyConstraint(["upstream"], ["upstreams.name"]),
        ForeignKeyConstraint(["profile"], ["profiles.name"]),
    )
    fleet: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    position: int = Field(sa_type=BigInteger)
    revision: int = Field(sa_type=BigInteger)
    upstream: str | None = Field(default=None, sa_type=Text)
    profile: str | None = Field(default=None, sa_type=Text)
    document: str = Field(sa_type=Text)


class HaltRow(Table, table=True):
    """A halt of a fleet, or of all (`*`)."""

    __tablename__ = "halts"
    key: str = Field(primary_key=True, sa_type=Text)
    revision: int = Field(sa_type=BigInteger)


class RevisionRow(Table, table=True):
    """A revision; `fleet` is the fleet it belongs to, for the fleet's own history."""

    __tablename__ = "revisions"
    __table_args__ = (
        Index("ix_revisions_kind_key", "kind", "key", "number"),
        Index("ix_revisions_fleet", "fleet", "number"),
    )
    number: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UtcDateTime)
    actor: str = Field(sa_type=Text)
    action: str = Field(sa_type=Text)
    kind: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    fleet: str | None = Field(default=None, sa_type=Text)
    before: str | None = Field(default=None, sa_type=Text)
    after: str | None = Field(default=None, sa_type=Text)
