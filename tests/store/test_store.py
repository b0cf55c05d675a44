"""The store: transactions, revisions, what a restart finds."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from brownout.domain import Catalog, Draft, NotFound, Revision
from brownout.store import Store, StoreError
from migrations import migrate
from tests.store.samples import endpoint, fill, fleet, profile, upstream
from tests.support import free_port


def reopened(store: Store) -> Catalog:
    """What another process would find."""
    url = store.url.render_as_string(hide_password=False)
    store.close()
    with Store(url) as again:
        return again.catalog


def test_an_empty_database_gives_an_empty_catalog(store: Store) -> None:
    """Nothing was ever committed: revision 0."""
    assert store.catalog == Catalog()


def test_a_transaction_is_found_after_a_restart(store: Store) -> None:
    """The catalog read from the rows equals the one that the writes made in memory."""
    store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    store.write(lambda draft: draft.put("edge/pay", endpoint(percent=12.5)), actor="bob")
    store.write(lambda draft: draft.order("edge", ["refund", "pay"]), actor="bob")
    store.write(lambda draft: draft.halt("edge", on=True), actor="bob")
    expected = store.catalog
    assert [each.entity.name for each in expected.endpoints("edge")] == ["refund", "pay"]
    assert reopened(store) == expected


def test_deleting_a_fleet_deletes_its_endpoints_and_its_halt(store: Store) -> None:
    """Nothing of it is found again, and each deletion is in the audit trail."""
    store.write(fill, actor="ann")
    store.write(lambda draft: draft.halt("edge", on=True), actor="ann")
    store.write(lambda draft: draft.delete("fleet", "edge"), actor="ann")
    assert [(each.action, each.key) for each in store.history.list(limit=2)] == [
        ("delete", "edge"),
        ("delete", "edge/pay"),
    ]
    found = reopened(store)
    assert (found.fleets, found.lists, found.halts) == ({}, {}, frozenset())


def test_everything_can_be_deleted_again(store: Store) -> None:
    """The order of a transaction's changes is the order in which the database sees them."""

    def clear(draft: Draft) -> None:
        draft.delete("fleet", "edge")
        draft.delete("profile", "slow")
        draft.delete("upstream", "payments")

    store.write(fill, actor="ann")
    store.write(clear, actor="ann")
    assert reopened(store) == Catalog(revision=8)


def test_a_fleet_is_replaced_within_one_transaction(store: Store) -> None:
    """The new one has nothing of the old, not even the revision of its list."""

    def replace(draft: Draft) -> None:
        draft.delete("fleet", "edge")
        draft.put("edge", fleet())

    store.write(fill, actor="ann")
    store.write(replace, actor="ann")
    expected = store.catalog
    assert expected.lists["edge"].revision == 7
    assert reopened(store) == expected


def test_a_revision_says_who_when_what_before_and_after(database: str) -> None:
    """The audit trail has every change."""
    now = datetime(2030, 1, 31, 18, 0, 0, 250, tzinfo=UTC)
    with Store(database, clock=lambda: now) as store:
        store.write(lambda draft: draft.put("payments", upstream(port=1)), actor="ann")
        store.write(lambda draft: draft.put("payments", upstream(port=2)), actor="bob")
        store.write(lambda draft: draft.delete("upstream", "payments"), actor="cy")
        before, after = upstream(port=1).document(), upstream(port=2).document()
        assert store.history.list() == [
            Revision(3, now, "cy", "delete", "upstream", "payments", after, None),
            Revision(2, now, "bob", "update", "upstream", "payments", before, after),
            Revision(1, now, "ann", "create", "upstream", "payments", None, before),
        ]


def test_a_write_that_changes_nothing_commits_no_revision(store: Store) -> None:
    """Putting what is there gives the present revision, and the same catalog object."""
    store.write(fill, actor="ann")
    before = store.catalog
    store.write(fill, actor="bob")
    assert store.catalog is before


def test_a_command_that_fails_commits_nothing(store: Store) -> None:
    """A transaction is all or nothing."""

    def fail(draft: Draft) -> None:
        fill(draft)
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        store.write(fail, actor="ann")
    assert store.catalog == Catalog()
    assert store.history.list() == []
    store.write(lambda draft: draft.put("slow", profile()), actor="ann")
    assert [each.number for each in store.history.list()] == [1]
    assert reopened(store).revision == 1


def test_a_write_shares_what_it_does_not_change(store: Store) -> None:
    """Consumers compare with `is`."""
    store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    before = store.catalog
    store.write(lambda draft: draft.put("edge/pay", endpoint(percent=1)), actor="ann")
    after = store.catalog
    assert after.profiles is before.profiles
    assert after.upstreams is before.upstreams
    assert after.fleets is before.fleets
    assert after.endpoints("edge")[1] is before.endpoints("edge")[1]
    assert after.endpoints("edge")[0] is not before.endpoints("edge")[0]


def test_the_behaviour_of_a_profile_is_built_once(store: Store) -> None:
    """A new description is a new profile with its own behaviour; an untouched profile keeps its object."""
    store.write(fill, actor="ann")
    behavior = store.catalog.profiles["slow"].entity.spec
    store.write(lambda draft: draft.put("other", profile("other")), actor="ann")
    assert store.catalog.profiles["slow"].entity.spec is behavior


def test_the_profile_is_given_back_as_it_was_written(store: Store) -> None:
    """`1000ms` is not turned into `1s`."""
    store.write(lambda draft: draft.put("slow", profile()), actor="ann")
    document = reopened(store).profiles["slow"].entity.document()
    assert document["spec"]["responses"][0]["distribution"] == {"p0": "1ms", "p100": "1000ms"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "expected the path of a SQLite file"),
        ("mysql://somewhere/x", "cannot be used: expected the path"),
        ("://", "the database.s URL cannot be read"),
    ],
)
def test_an_unusable_url_is_refused_with_what_was_expected(url: str, message: str) -> None:
    """Before anything is opened."""
    with pytest.raises(StoreError, match=message):
        Store(url)


def test_a_database_that_cannot_be_reached_says_so(tmp_path: Path) -> None:
    """A PostgreSQL that does not answer, a file that is a folder, a folder that is a file."""
    with pytest.raises(StoreError, match="the database cannot be used"):
        Store(f"postgresql://nobody@127.0.0.1:{free_port()}/none")
    with pytest.raises(StoreError, match="the database cannot be used"):
        Store(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"/file/brownout\.db cannot be used: "):
        migrate(f"{tmp_path}/file/brownout.db")


def commands() -> list[Callable[[Draft], Any]]:
    return [
        lambda draft: draft.put("new", profile("new")),
        lambda draft: draft.put("new", upstream("new")),
        lambda draft: draft.put("new", fleet("new")),
        lambda draft: draft.put("edge/new", endpoint("new")),
        lambda draft: draft.put("edge/pay", endpoint(percent=3)),
        lambda draft: draft.order("edge", ["refund", "pay"]),
        lambda draft: draft.halt("*", on=True),
        lambda draft: draft.delete("endpoint", "edge/pay"),
        lambda draft: draft.delete("fleet", "edge"),
    ]


@pytest.mark.parametrize("command", commands())
def test_applying_the_revisions_gives_the_catalog_that_the_writer_has(
    store: Store, command: Callable[[Draft], Any]
) -> None:
    """A replica that takes in a change sees what the replica that made it sees."""
    store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    catalog = store.catalog
    store.write(command, actor="ann")
    for revision in reversed(store.history.list(limit=store.catalog.revision - catalog.revision)):
        catalog = catalog.apply(revision)
    assert catalog == store.catalog


def test_the_history_knows_a_fleet_at_every_revision(store: Store) -> None:
    """With the endpoints of then, in the order of then."""

    def at(number: int) -> list[str]:
        former = store.history.fleet("edge", number)
        return [f"{each.name} {each.fault.percent if each.fault else '-'}" for each in former.endpoints]

    store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    store.write(lambda draft: draft.order("edge", ["refund", "pay"]), actor="ann")
    store.write(lambda draft: draft.put("edge/refund", endpoint("refund", percent=1)), actor="ann")
    store.write(lambda draft: draft.delete("endpoint", "edge/refund"), actor="ann")
    store.write(lambda draft: draft.put("edge/refund", endpoint("refund")), actor="ann")
    store.write(lambda draft: draft.delete("fleet", "edge"), actor="ann")
    assert [at(number) for number in range(3, 11)] == [
        [],
        ["pay 100.0"],
        ["pay 100.0", "refund 100.0"],
        ["refund 100.0", "pay 100.0"],
        ["refund 1.0", "pay 100.0"],
        ["pay 100.0"],
        ["pay 100.0", "refund -"],
        ["refund -"],
    ]
    for number in (2, 12):
        with pytest.raises(NotFound, match=f"^there is no revision {number} of fleet 'edge'$"):
            store.history.fleet("edge", number)


@pytest.mark.parametrize("number", [6, 2**63 - 1])
def test_there_is_nothing_yet_at_a_revision_to_come(store: Store, number: int) -> None:
    """What it will be nobody knows."""
    store.write(lambda draft: fill(draft, "pay", "refund"), actor="ann")
    for former in (store.history.profile, store.history.fleet):
        with pytest.raises(NotFound, match=rf"there is no revision '{number}' \(there is '5'\)"):
            former("slow", number)
