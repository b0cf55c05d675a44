"""A fleet's endpoints and their faults through the service."""

from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest

from brownout.domain import Conflict, NotFound, StaleRevision, ValidationFailed
from brownout.service import Service
from brownout.store import Store
from migrations import migrate
from tests.store.samples import fill


def names(service: Service) -> list[str]:
    return [each.entity.name for each in service.catalog.endpoints("edge")]


async def test_a_new_endpoint_stands_last_and_a_replaced_one_in_its_place(filled: Service) -> None:
    """The order is the user's: first match wins."""
    created = await filled.create_endpoint("edge", {"name": "all", "upstream": "payments"}, actor="ann")
    await filled.put_endpoint("edge", "pay", {"upstream": "payments", "timeout": "3s"}, actor="ann")
    assert names(filled) == ["pay", "refund", "all"]
    assert created.entity.document()["timeout"] == "15s"
    assert filled.get_endpoint("edge", "pay").entity.timeout == 3_000_000_000
    with pytest.raises(Conflict):
        await filled.create_endpoint("edge", {"name": "all", "upstream": "payments"}, actor="ann")


async def test_the_order_is_put_as_a_whole(filled: Service) -> None:
    """Every name exactly once, or every mistake is reported."""
    items = await filled.put_order("edge", ["refund", "pay"], actor="ann")
    assert [each.entity.name for each in items] == names(filled) == ["refund", "pay"]
    with pytest.raises(ValidationFailed) as caught:
        await filled.put_order("edge", ["pay", "pay", "zzz"], actor="ann")
    assert str(caught.value).splitlines() == [
        "[2]: there is no endpoint 'zzz'",
        "'pay' stands there 2 times",
        "every endpoint is expected once, missing: refund",
    ]


async def test_an_order_is_refused_when_the_list_has_changed_since(filled: Service) -> None:
    """`if_match` is the revision of the list, which every change of an entry moves."""
    seen = filled.catalog.lists["edge"].revision
    await filled.delete_fault("edge", "pay", actor="ann")
    with pytest.raises(StaleRevision):
        await filled.put_order("edge", ["refund", "pay"], actor="bob", if_match=seen)
    await filled.put_order("edge", ["refund", "pay"], actor="bob", if_match=seen + 1)


async def test_a_fault_is_bound_changed_and_removed(filled: Service) -> None:
    """The daily act."""
    await filled.delete_fault("edge", "pay", actor="ann")
    first = await filled.put_fault("edge", "pay", {"profile": "slow", "for": "10m"}, actor="ann")
    second = await filled.put_fault("edge", "pay", {"profile": "slow", "percent": 20}, actor="ann")
    assert (first.created, second.created) == (True, False)
    fault = first.stored.entity.document()["fault"]
    assert (fault["expires_at"], fault["percent"]) == ("2030-01-31T18:10:00Z", 100)
    assert second.stored.entity.document()["fault"]["expires_at"] is None
    removed = await filled.delete_fault("edge", "pay", actor="ann")
    assert removed.stored.entity.fault is None
    with pytest.raises(NotFound, match=r"^there is no fault of endpoint 'edge/pay'$"):
        await filled.delete_fault("edge", "pay", actor="ann")


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"profile": "slwo"}, ["profile"]),
        ({"profile": "slow", "percent": 101, "for": "soon"}, ["for", "percent"]),
        ({"profile": "slow", "for": "1m", "expires_at": "2031-01-01T00:00:00Z"}, ["for"]),
        ({"profile": "slow", "for": 10}, ["for"]),
        ({"profile": "slow", "for": "0s"}, ["for"]),
        ({}, ["profile"]),
    ],
)
async def test_errors_of_a_fault_have_the_paths_of_its_document(
    filled: Service, document: dict[str, Any], paths: list[str]
) -> None:
    """Within an endpoint the same errors stand below `fault`."""
    with pytest.raises(ValidationFailed) as caught:
        await filled.put_fault("edge", "pay", document, actor="ann")
    assert [each.path for each in caught.value.errors] == paths
    endpoint = {"name": "new", "upstream": "payments", "fault": document}
    with pytest.raises(ValidationFailed) as caught:
        await filled.create_endpoint("edge", endpoint, actor="ann")
    assert [each.path for each in caught.value.errors] == [f"fault.{path}" for path in paths]


async def test_references_to_nothing_are_all_reported_with_what_exists_nearby(filled: Service) -> None:
    """Nothing is committed."""
    before = filled.catalog
    document = {"name": "new", "upstream": "paiments", "fault": {"profile": "slwo"}}
    with pytest.raises(ValidationFailed) as caught:
        await filled.create_endpoint("edge", document, actor="ann")
    assert str(caught.value).splitlines() == [
        "upstream: there is no upstream 'paiments' (did you mean 'payments'?)",
        "fault.profile: there is no profile 'slwo' (did you mean 'slow'?)",
    ]
    assert filled.catalog is before


async def test_an_endpoint_of_no_fleet_is_not_found(filled: Service) -> None:
    """The message names the fleet, not the endpoint."""
    calls = [
        filled.create_endpoint("edgy", {"name": "x", "upstream": "payments"}, actor="ann"),
        filled.put_fault("edgy", "pay", {"profile": "slow"}, actor="ann"),
        filled.delete_endpoint("edgy", "pay", actor="ann"),
        filled.put_order("edgy", [], actor="ann"),
    ]
    for call in calls:
        with pytest.raises(NotFound, match=r"there is no fleet 'edgy' \(did you mean 'edge'\?\)"):
            await call
    with pytest.raises(NotFound):
        filled.list_endpoints("edgy")
    with pytest.raises(NotFound, match="there is no endpoint 'edge/zzz'"):
        await filled.delete_endpoint("edge", "zzz", actor="ann")


async def test_endpoints_are_listed_in_their_order(filled: Service) -> None:
    """A cursor whose endpoint is gone cannot be resumed in a list that is not ordered by name."""
    await filled.put_order("edge", ["refund", "pay"], actor="ann")
    first = filled.list_endpoints("edge", limit=1)
    assert ([each.entity.name for each in first.items], first.next) == (["refund"], "refund")
    second = filled.list_endpoints("edge", limit=1, cursor=first.next)
    assert ([each.entity.name for each in second.items], second.next) == (["pay"], None)
    await filled.delete_endpoint("edge", "refund", actor="ann")
    with pytest.raises(ValidationFailed, match="begin again without a cursor"):
        filled.list_endpoints("edge", cursor=first.next)


async def test_a_damaged_endpoint_of_no_fleet_can_be_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Else it would keep its profile and its upstream in use for ever; the log tells of it."""
    file = tmp_path / "brownout.db"
    migrate(str(file))
    with Store(str(file)) as store:
        store.write(lambda draft: fill(draft, "pay"), actor="ann")
    with closing(connect(file)) as rows, rows:
        rows.execute("UPDATE endpoints SET fleet = 'gone'")
    async with Service(Store(str(file))) as service:
        expected = "the stored endpoint 'gone/pay' is damaged and left out: its fleet 'gone' does not exist"
        assert expected in caplog.messages
        with pytest.raises(Conflict, match="used by endpoint gone/pay"):
            await service.delete_profile("slow", actor="ann")
        await service.delete_endpoint("gone", "pay", actor="ann")
        await service.delete_profile("slow", actor="ann")
        assert service.catalog.damaged == {}
