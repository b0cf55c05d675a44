"""Rows that were edited by hand: left out and reported, the others delivered."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from sqlalchemy import text

from brownout.domain import FieldError, ValidationFailed
from brownout.store import Store
from brownout.store.engine import database_url, make_engine
from migrations import migrate
from tests.store.samples import endpoint, fill, fleet, profile, upstream


@pytest.fixture
def filled(database: str) -> str:
    with Store(database) as store:
        store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    return database


def edit(url: str, statement: str, **values: Any) -> None:
    engine = make_engine(database_url(url))
    with engine.begin() as connection:
        assert connection.execute(text(statement), values).rowcount == 1
    engine.dispose()


def document(url: str, table: str, name: str) -> Any:
    engine = make_engine(database_url(url))
    with engine.begin() as connection:
        found = connection.execute(text(f"SELECT document FROM {table} WHERE name = :name"), {"name": name})  # noqa: S608
        value = json.loads(found.scalar_one())
    engine.dispose()
    return value


def set_document(url: str, table: str, name: str, value: str | bytes | int) -> None:
    edit(url, f"UPDATE {table} SET document = :value WHERE name = :name", value=value, name=name)  # noqa: S608


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (
            "{",
            FieldError(
                "", "is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
            ),
        ),
        ("[]", FieldError("", "expected a mapping of fields to values, found a list")),
        ('{"name": "slow"}', FieldError("spec", "is required")),
    ],
)
def test_a_damaged_profile_is_left_out_and_its_endpoints_route_without_their_fault(
    filled: str, value: str, error: FieldError
) -> None:
    """What a request meets is an upstream without a fault, not a missing route."""
    set_document(filled, "profiles", "slow", value)
    with Store(filled) as store:
        catalog = store.catalog
    assert catalog.profiles == {}
    assert catalog.damaged["profile", "slow"].errors == (error,)
    assert [each.entity.fault for each in catalog.endpoints("edge")] == [None, None]
    assert [each.path for each in catalog.damaged["endpoint", "edge/pay"].errors] == ["fault.profile"]
    assert list(catalog.upstreams) == ["payments"]


def test_a_damaged_endpoint_is_left_out_alone(filled: str) -> None:
    """The other endpoints of the fleet are delivered."""
    set_document(
        filled, "endpoints", "pay", json.dumps(document(filled, "endpoints", "pay") | {"timeout": 15})
    )
    with Store(filled) as store:
        catalog = store.catalog
    assert [each.entity.name for each in catalog.endpoints("edge")] == ["refund"]
    damage = catalog.damaged["endpoint", "edge/pay"]
    assert [each.path for each in damage.errors] == ["timeout"]
    assert set(damage.uses) == {("upstream", "payments"), ("profile", "slow")}


def test_an_endpoint_to_an_unknown_upstream_is_left_out(filled: str) -> None:
    """It cannot be routed."""
    set_document(
        filled, "endpoints", "pay", json.dumps(document(filled, "endpoints", "pay") | {"upstream": "gone"})
    )
    with Store(filled) as store:
        assert [each.entity.name for each in store.catalog.endpoints("edge")] == ["refund"]
        assert [each.path for each in store.catalog.damaged["endpoint", "edge/pay"].errors] == ["upstream"]


def test_a_row_under_another_name_than_its_document_is_damaged(filled: str) -> None:
    """The name is the key."""
    set_document(filled, "upstreams", "payments", json.dumps(upstream("other").document()))
    with Store(filled) as store:
        assert store.catalog.upstreams == {}
        [error] = store.catalog.damaged["upstream", "payments"].errors
        assert error.path == "name"


def test_a_damaged_fleet_is_left_out_with_its_endpoints(filled: str) -> None:
    """Without a mode there is nothing to compile."""
    set_document(filled, "fleets", "edge", "{}")
    with Store(filled) as store:
        catalog = store.catalog
    assert (catalog.fleets, catalog.lists) == ({}, {})
    assert set(catalog.damaged) == {("fleet", "edge"), ("endpoint", "edge/pay"), ("endpoint", "edge/refund")}
    assert set(catalog.users_of("profile", "slow")) == {"edge/pay", "edge/refund"}


class TestRepair:
    """A damaged row can be replaced or deleted like any other."""

    @pytest.fixture
    def store(self, filled: str) -> Iterator[Store]:
        set_document(filled, "profiles", "slow", '{"name": "slow", "spec": 1}')
        with Store(filled) as store:
            yield store

    def test_replacing_it_brings_back_what_refers_to_it(self, store: Store) -> None:
        """The endpoints have their faults again; the trail has what was damaged."""
        store.write(lambda draft: draft.put("slow", profile()), actor="ann")
        assert store.catalog.damaged == {}
        assert [each.entity for each in store.catalog.endpoints("edge")] == [
            endpoint("pay", percent=100),
            endpoint("refund", percent=100),
        ]
        [revision] = store.history.list(limit=1)
        assert (revision.action, revision.before) == ("update", {"name": "slow", "spec": 1})
        assert store.load() == store.catalog

    def test_replacing_the_endpoint_instead_ends_its_damage(self, store: Store) -> None:
        """Even by what it is delivered as already."""
        store.write(lambda draft: draft.put("edge/pay", endpoint("pay")), actor="ann")
        assert set(store.catalog.damaged) == {("profile", "slow"), ("endpoint", "edge/refund")}
        assert store.load() == store.catalog

    def test_deleting_the_fleet_deletes_damaged_endpoints_too(self, store: Store) -> None:
        """Nothing of it stays in the database."""
        store.write(lambda draft: draft.delete("fleet", "edge"), actor="ann")
        store.write(lambda draft: draft.delete("profile", "slow"), actor="ann")
        assert store.load().damaged == {}


def test_a_repaired_endpoint_stands_at_the_end_of_the_list(filled: str) -> None:
    """As the catalog has it, which did not know its place: a restart gives the same order."""
    set_document(filled, "endpoints", "pay", "{}")
    with Store(filled) as store:
        store.write(lambda draft: draft.put("edge/pay", endpoint("pay", percent=1)), actor="ann")
        assert [each.entity.name for each in store.catalog.endpoints("edge")] == ["refund", "pay"]
        assert store.load() == store.catalog


def test_a_revision_of_a_newer_version_makes_the_reader_read_the_rows(filled: str) -> None:
    """Another process may have written what this version cannot read: it is damage, not an error."""
    with Store(filled) as store:
        statement = (
            "INSERT INTO revisions (number, at, actor, action, kind, key, after) VALUES "
            "(6, '2030-01-31 18:00:00', 'new', 'update', 'profile', 'slow', :after)"
        )
        edit(filled, statement, after='{"name": "slow", "spec": {"novel": 1}}')
        set_document(filled, "profiles", "slow", '{"name": "slow", "spec": {"novel": 1}}')
        assert store.catch_up().revision == 6
        assert ("profile", "slow") in store.catalog.damaged


@pytest.fixture
def sqlite(tmp_path: Path) -> Path:
    file = tmp_path / "brownout.db"
    migrate(str(file))
    with Store(str(file)) as store:
        store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    return file


class TestOrphan:
    """An endpoint of a fleet that does not exist (SQLite checks references only where it is told to)."""

    @pytest.fixture
    def store(self, sqlite: Path) -> Iterator[Store]:
        with closing(connect(sqlite)) as database, database:
            database.execute("UPDATE endpoints SET fleet = 'gone' WHERE name = 'pay'")
        with Store(str(sqlite)) as store:
            yield store

    def test_it_is_left_out_alone(self, store: Store) -> None:
        """Everything else is there."""
        assert [each.entity.name for each in store.catalog.endpoints("edge")] == ["refund"]
        assert store.catalog.damaged["endpoint", "gone/pay"].errors == (
            FieldError("", "its fleet 'gone' does not exist"),
        )

    def test_it_can_be_deleted(self, store: Store) -> None:
        """Nothing of it stays."""
        store.write(lambda draft: draft.delete("endpoint", "gone/pay"), actor="ann")
        assert store.catalog.damaged == {}
        assert store.load() == store.catalog

    def test_it_is_sound_when_its_fleet_comes(self, store: Store) -> None:
        """At once, not only after a restart."""
        store.write(lambda draft: draft.put("gone", fleet("gone")), actor="ann")
        assert store.catalog.damaged == {}
        assert [each.entity.name for each in store.catalog.endpoints("gone")] == ["pay"]
        assert store.load() == store.catalog


@pytest.mark.parametrize("value", [b"\xff\x00", b"5", 5])
def test_a_document_of_another_type_is_damaged(sqlite: Path, value: bytes | int) -> None:
    """SQLite keeps any type in any column."""
    set_document(str(sqlite), "profiles", "slow", value)
    with Store(str(sqlite)) as store:
        assert ("profile", "slow") in store.catalog.damaged


def test_a_damaged_revision_is_shown_as_such(filled: str) -> None:
    """The trail can be read; what cannot be read cannot be returned to."""
    edit(filled, "UPDATE revisions SET after = '{' WHERE kind = 'profile'")
    with Store(filled) as store:
        [revision] = store.history.list(kind="profile", key="slow")
        assert revision.after == {"unreadable": "{"}
        with pytest.raises(ValidationFailed):
            store.history.profile("slow", 5)
        assert store.history.fleet("edge", 5).fleet.name == "edge"
    edit(filled, "UPDATE revisions SET after = '{' WHERE kind = 'fleet'")
    with Store(filled) as store, pytest.raises(ValidationFailed):
        store.history.fleet("edge", 5)
