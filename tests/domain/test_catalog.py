"""The catalog and drafts: a change builds anew only what it changes."""

from datetime import UTC, datetime

import pytest

from brownout.domain import Catalog, Draft, Revision, ValidationFailed
from tests.store.samples import endpoint, fill, fleet, profile, upstream

NOW = datetime(2030, 1, 31, 18, tzinfo=UTC)


def draft(catalog: Catalog | None = None) -> Draft:
    return Draft(catalog or Catalog(), actor="ann", at=NOW)


@pytest.fixture
def catalog() -> Catalog:
    started = draft()
    fill(started, "pay", "refund")
    return started.catalog


def test_names_are_in_order(catalog: Catalog) -> None:
    """Whatever the order of their creation."""
    changing = draft(catalog)
    for name in ("zebra", "ant"):
        changing.put(name, upstream(name))
    assert list(changing.catalog.upstreams) == ["ant", "payments", "zebra"]


def test_what_a_change_does_not_touch_is_the_same_object(catalog: Catalog) -> None:
    """Mappings and entries."""
    changing = draft(catalog)
    changing.put("mesh", fleet("mesh"))
    after = changing.catalog
    assert after.profiles is catalog.profiles
    assert after.upstreams is catalog.upstreams
    assert after.fleets["edge"] is catalog.fleets["edge"]
    assert after.lists["edge"] is catalog.lists["edge"]
    changing.order("edge", ["refund", "pay"])
    assert set(map(id, changing.catalog.endpoints("edge"))) == set(map(id, catalog.endpoints("edge")))
    assert catalog.lists.keys() == {"edge"}


def test_revisions_move_with_what_they_change(catalog: Catalog) -> None:
    """An entity's by its own changes, a list's by those of its entries and of its order."""
    changing = draft(catalog)
    changing.put("edge/pay", endpoint("pay", percent=1))
    changing.order("edge", ["refund", "pay"])
    after = changing.catalog
    assert [each.revision for each in after.endpoints("edge")] == [5, 6]
    assert (after.lists["edge"].revision, after.fleets["edge"].revision, after.revision) == (7, 3, 7)
    changing.put("slow", profile(description="new"))
    assert changing.catalog.lists is after.lists


def test_halts_are_of_a_fleet_or_of_all(catalog: Catalog) -> None:
    """Each holds by itself; a deleted fleet has none."""
    changing = draft(catalog)
    changing.halt("edge", on=True)
    changing.halt("*", on=True)
    assert changing.catalog.halted("mesh")
    changing.halt("*", on=False)
    assert (changing.catalog.halted("edge"), changing.catalog.halted("mesh")) == (True, False)
    assert not changing.halt("edge", on=True)
    changing.delete("fleet", "edge")
    assert changing.catalog.halts == frozenset()


def test_a_change_that_changes_nothing_leaves_no_revision(catalog: Catalog) -> None:
    """The catalog stays the same object."""
    changing = draft(catalog)
    fill(changing, "pay", "refund")
    changing.order("edge", ["pay", "refund"])
    assert changing.catalog is catalog
    assert changing.revisions == []


def test_another_way_of_writing_the_same_behaviour_is_a_change(catalog: Catalog) -> None:
    """GET gives back what was written last."""
    spec = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "1ms", "p100": "1s"}}]}
    changing = draft(catalog)
    assert changing.put("slow", profile(spec=spec))
    assert changing.catalog.profiles["slow"].entity.spec == catalog.profiles["slow"].entity.spec


def test_users_are_found(catalog: Catalog) -> None:
    """Of profiles and upstreams; a fleet of the same name as a profile has none of its users."""
    assert list(catalog.users_of("profile", "slow")) == ["edge/pay", "edge/refund"]
    assert list(catalog.users_of("upstream", "payments")) == ["edge/pay", "edge/refund"]
    assert list(catalog.users_of("upstream", "slow")) == []
    assert list(catalog.users_of("fleet", "slow")) == []


def test_a_revision_that_cannot_be_read_is_refused() -> None:
    """The reader reads the rows instead."""
    revision = Revision(
        1, NOW, "ann", "create", "profile", "slow", None, {"name": "slow", "spec": {"novel": 1}}
    )
    with pytest.raises(ValidationFailed):
        Catalog().apply(revision)


class Name(str):
    """A name that counts how often one is compared with another."""

    compared = 0
    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        Name.compared += 1
        return str.__lt__(self, other)


def test_many_new_names_are_put_in_order_once() -> None:
    """Not once for each of them, which would be hundreds of comparisons for each."""
    changing = draft()
    Name.compared = 0
    for number in range(1000):
        name = f"u{number * 7919 % 1000}"
        changing.put(Name(name), upstream(name))
    assert len(changing.catalog.upstreams) == 1000
    assert Name.compared < 1000 * 12
    assert changing.catalog is changing.catalog


def test_a_catalog_stays_as_it_is_while_its_draft_goes_on(catalog: Catalog) -> None:
    """Each is a state of its own, and what has not changed between two of them is one object."""
    changing = draft(catalog)
    changing.put("ant", upstream("ant"))
    first = changing.catalog
    changing.put("bee", upstream("bee"))
    changing.delete("endpoint", "edge/pay")
    second = changing.catalog
    assert list(first.upstreams) == ["ant", "payments"]
    assert list(second.upstreams) == ["ant", "bee", "payments"]
    assert [each.entity.name for each in first.endpoints("edge")] == ["pay", "refund"]
    assert [each.entity.name for each in second.endpoints("edge")] == ["refund"]
    assert second.profiles is first.profiles is catalog.profiles
    assert second.upstreams["ant"] is first.upstreams["ant"]


def test_a_fleet_that_comes_back_has_a_list_of_its_own(catalog: Catalog) -> None:
    """Deleting and creating it in one draft leaves none of its endpoints and no halt."""
    changing = draft(catalog)
    changing.halt("edge", on=True)
    changing.delete("fleet", "edge")
    changing.put("edge", fleet("edge"))
    after = changing.catalog
    assert (after.endpoints("edge"), after.halts) == ((), frozenset())
    assert after.lists["edge"].revision == after.fleets["edge"].revision == after.revision
