"""Export, plan, apply, and the rollback of a fleet."""

from typing import Any

import pytest

from brownout.domain import Conflict, ValidationFailed
from brownout.service import Plan, Service
from tests.store.samples import SPEC, endpoint, fleet, profile, upstream


def told(plan: Plan) -> list[str]:
    return [f"{each.action} {each.kind} {each.key}" for each in plan.changes]


def entries(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, "upstream": "payments", **fields} for name in names]


def order(service: Service, fleet: str = "edge") -> list[str]:
    return [each.entity.name for each in service.catalog.endpoints(fleet)]


WHOLE: dict[str, Any] = {
    "fleets": [{**fleet().document(), "endpoints": entries("pay", fault={"profile": "slow"})}],
    "upstreams": [upstream().document()],
    "profiles": [{"name": "slow", "spec": SPEC}],
}


async def test_a_whole_configuration_is_applied_in_one_transaction(service: Service) -> None:
    """Whatever the order of the document, references are satisfied; one catalog is published."""
    seen: list[int] = []
    service.feed.publish = lambda catalog: seen.append(catalog.revision)  # type: ignore[method-assign]
    planned = await service.plan(WHOLE)
    applied = await service.apply(WHOLE, actor="ann")
    assert (
        told(planned)
        == told(applied)
        == [
            "create profile slow",
            "create upstream payments",
            "create fleet edge",
            "create endpoint edge/pay",
        ]
    )
    assert (planned.revision, applied.revision) == (0, 4)
    assert seen == [4]


async def test_applying_again_changes_nothing(filled: Service) -> None:
    """Also what was exported, with and without pruning."""
    before = filled.catalog
    for prune in (False, True):
        assert (await filled.apply(filled.export(), actor="ann", prune=prune)).changes == ()
    assert filled.catalog is before


async def test_a_plan_shows_what_was_and_what_would_be(filled: Service) -> None:
    """Nothing is changed."""
    plan = await filled.plan({"upstreams": [upstream(port=1).document()]})
    [change] = plan.changes
    assert (change.before, change.after) == (upstream().document(), upstream(port=1).document())
    assert filled.get_upstream("payments").entity == upstream()


async def test_nothing_is_deleted_without_prune(filled: Service) -> None:
    """With it, what the sections of the document do not name is deleted, users first."""
    lists: dict[str, Any] = {"profiles": [], "upstreams": [], "fleets": []}
    assert (await filled.apply(lists, actor="ann")).changes == ()
    assert told(await filled.apply(lists, actor="ann", prune=True)) == [
        "delete endpoint edge/pay",
        "delete endpoint edge/refund",
        "delete fleet edge",
        "delete upstream payments",
        "delete profile slow",
    ]


async def test_prune_leaves_the_sections_alone_that_the_document_has_not(filled: Service) -> None:
    """A file with profiles only deletes profiles only; a fleet without `endpoints` keeps its list."""
    await filled.put_profile("unused", {"spec": SPEC}, actor="ann")
    document = {"profiles": [profile().document()], "fleets": [fleet().document()]}
    assert told(await filled.apply(document, actor="ann", prune=True)) == ["delete profile unused"]
    assert order(filled) == ["pay", "refund"]


async def test_what_is_in_use_is_not_pruned(filled: Service) -> None:
    """The whole transaction is refused."""
    before = filled.catalog
    document = {"profiles": [], "upstreams": [upstream(port=1).document()]}
    with pytest.raises(Conflict, match="profile 'slow' is used by endpoint edge/pay"):
        await filled.apply(document, actor="ann", prune=True)
    assert filled.catalog is before


async def test_endpoints_come_to_stand_in_the_order_of_the_document(filled: Service) -> None:
    """Those that it does not name keep their places."""
    for name in ("a", "b", "c"):
        await filled.put_endpoint("edge", name, {"upstream": "payments"}, actor="ann")
    assert order(filled) == ["pay", "refund", "a", "b", "c"]
    document = {"fleets": [{**fleet().document(), "endpoints": entries("b", "pay")}]}
    await filled.apply(document, actor="ann")
    assert order(filled) == ["b", "refund", "a", "pay", "c"]
    assert (await filled.apply(document, actor="ann")).changes == ()
    await filled.apply(document, actor="ann", prune=True)
    assert order(filled) == ["b", "pay"]


async def test_every_error_of_a_configuration_is_reported_with_its_path(filled: Service) -> None:
    """First what cannot be read, then what has no meaning or refers to nothing."""
    unreadable = {
        "profiles": [{"name": "x", "spec": {"responses": [{"status": 99}]}}, 3],
        "upstreams": {},
        "fleets": [{"name": "Edge", "endpoints": [{"name": "a", "fault": {"profile": "slow", "for": "1m"}}]}],
        "policies": [],
    }
    with pytest.raises(ValidationFailed) as caught:
        await filled.plan(unreadable)
    assert {each.path for each in caught.value.errors} >= {
        "policies",
        "profiles[0].spec.responses[0].status",
        "profiles[1]",
        "upstreams",
        "fleets[0].name",
        "fleets[0].endpoints[0].fault.for",
    }
    meaningless = {
        "fleets": [
            {"name": "edge", "mode": "routes", "endpoints": []},
            {"name": "mesh", "mode": "filter", "endpoints": entries("a", fault={"profile": "gone"})},
        ],
    }
    with pytest.raises(ValidationFailed) as caught:
        await filled.plan(meaningless)
    assert [each.path for each in caught.value.errors] == [
        "fleets[0].mode",
        "fleets[1].endpoints[0].upstream",
        "fleets[1].endpoints[0].fault.profile",
    ]


async def test_a_name_that_stands_twice_is_refused(service: Service) -> None:
    """Which of the two would be meant?"""
    with pytest.raises(ValidationFailed, match=r"upstreams\[1\].name: 'payments' stands here twice"):
        await service.plan({"upstreams": [upstream().document(), upstream(port=1).document()]})


async def test_a_fleet_is_rolled_back_with_its_endpoints_and_their_order(filled: Service) -> None:
    """To the state at any revision; a fleet that is gone comes back."""
    then = filled.catalog.revision
    former = filled.export()
    await filled.put_order("edge", ["refund", "pay"], actor="ann")
    await filled.put_endpoint("edge", "new", {"upstream": "payments"}, actor="ann")
    await filled.put_fault("edge", "pay", {"profile": "slow", "percent": 1}, actor="ann")
    await filled.delete_endpoint("edge", "refund", actor="ann")
    plan = await filled.rollback_fleet("edge", then, actor="bob")
    assert told(plan) == [
        "delete endpoint edge/new",
        "rollback endpoint edge/pay",
        "rollback endpoint edge/refund",
    ]
    assert filled.export() == former
    await filled.delete_fleet("edge", actor="ann")
    await filled.rollback_fleet("edge", then, actor="bob")
    assert filled.export() == former


async def test_a_fleet_cannot_be_rolled_back_to_what_needs_something_that_is_gone(filled: Service) -> None:
    """The conflict says what is missing."""
    then = filled.catalog.revision
    await filled.put_upstream("other", upstream("other").document(), actor="ann")
    for name in ("pay", "refund"):
        await filled.put_endpoint("edge", name, endpoint(name, upstream="other").document(), actor="ann")
    await filled.delete_upstream("payments", actor="ann")
    with pytest.raises(Conflict, match=r"endpoints\[0\].upstream: there is no upstream 'payments'"):
        await filled.rollback_fleet("edge", then, actor="bob")


async def test_the_audit_trail_is_read_in_pages_and_by_subject(filled: Service) -> None:
    """Newest first."""
    await filled.put_order("edge", ["refund", "pay"], actor="ann")
    await filled.put_profile("other", {"spec": SPEC}, actor="ann")
    await filled.halt("edge", actor="ann")
    await filled.halt(None, actor="ann")
    first = await filled.list_revisions(limit=3)
    assert ([each.number for each in first.items], first.next) == ([9, 8, 7], "7")
    second = await filled.list_revisions(limit=100, cursor=first.next)
    assert ([each.number for each in second.items], second.next) == ([6, 5, 4, 3, 2, 1], None)
    of_fleet = await filled.list_revisions(fleet="edge")
    assert [each.number for each in of_fleet.items] == [9, 8, 6, 5, 4, 3]
    with pytest.raises(ValidationFailed, match="cursor"):
        await filled.list_revisions(cursor="x")
