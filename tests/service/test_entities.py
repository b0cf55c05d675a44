"""Profiles, upstreams and fleets through the service."""

import pytest

from brownout.domain import Conflict, FieldError, NotFound, StaleRevision, ValidationFailed
from brownout.service import Service
from tests.store.samples import SPEC, fleet, profile, upstream


async def test_put_creates_then_replaces(service: Service) -> None:
    """The outcome says which, and that a repetition changed nothing."""
    first = await service.put_profile("slow", {"spec": SPEC}, actor="ann")
    again = await service.put_profile("slow", {"spec": SPEC}, actor="ann")
    other = await service.put_profile("slow", {"spec": SPEC, "description": "new"}, actor="ann")
    assert [(each.stored.revision, each.created, each.changed) for each in (first, again, other)] == [
        (1, True, True),
        (1, False, False),
        (2, False, True),
    ]
    assert service.get_profile("slow") == other.stored


async def test_a_yaml_document_is_accepted(service: Service) -> None:
    """As REST passes it on."""
    document = b"spec:\n  responses:\n  - {status: 200, resolution: 1, distribution: {p50: 20ms}}\n"
    written = await service.put_profile("slow", document, actor="ann")
    assert written.stored.entity.document()["spec"]["responses"][0]["distribution"] == {"p50": "20ms"}


async def test_create_refuses_a_name_that_is_taken(filled: Service) -> None:
    """PUT is for replacing."""
    for create, entity in (
        (filled.create_profile, profile()),
        (filled.create_upstream, upstream()),
        (filled.create_fleet, fleet()),
    ):
        with pytest.raises(Conflict, match=f"there is a {entity.kind} '{entity.name}' already"):
            await create(entity.document(), actor="ann")


async def test_a_stale_writer_is_refused(filled: Service) -> None:
    """The message says what the present revision is; nothing is changed."""
    seen = filled.get_upstream("payments").revision
    await filled.put_upstream("payments", upstream(port=1).document(), actor="ann", if_match=seen)
    with pytest.raises(StaleRevision, match="is at revision 6, not at revision 2") as caught:
        await filled.put_upstream("payments", upstream(port=2).document(), actor="bob", if_match=seen)
    assert (caught.value.expected, caught.value.present) == (2, 6)
    assert filled.get_upstream("payments").entity == upstream(port=1)
    with pytest.raises(StaleRevision, match="does not exist"):
        await filled.put_upstream("other", upstream("other").document(), actor="bob", if_match=seen)
    with pytest.raises(StaleRevision):
        await filled.delete_upstream("payments", actor="bob", if_match=seen)


async def test_what_is_in_use_is_not_deleted(filled: Service) -> None:
    """The conflict says by whom."""
    for delete, name in ((filled.delete_profile, "slow"), (filled.delete_upstream, "payments")):
        with pytest.raises(
            Conflict, match=f"'{name}' is used by endpoint edge/pay, endpoint edge/refund"
        ) as caught:
            await delete(name, actor="ann")
        assert caught.value.used_by == ("endpoint edge/pay", "endpoint edge/refund")


async def test_deleting_a_fleet_frees_what_its_endpoints_used(filled: Service) -> None:
    """Endpoints go with their fleet."""
    await filled.delete_fleet("edge", actor="ann")
    await filled.delete_profile("slow", actor="ann")
    await filled.delete_upstream("payments", actor="ann")
    assert filled.export() == {"profiles": [], "upstreams": [], "fleets": []}


async def test_the_mode_of_a_fleet_never_changes(filled: Service) -> None:
    """Neither with nor without endpoints."""
    with pytest.raises(ValidationFailed) as caught:
        await filled.put_fleet("edge", {"mode": "routes"}, actor="ann")
    [error] = caught.value.errors
    assert error.path == "mode"
    assert error.message.startswith('expected "gateway": the mode of a fleet never changes')


async def test_the_name_in_the_document_must_be_that_of_the_address(service: Service) -> None:
    """Reported with everything else that is wrong."""
    with pytest.raises(ValidationFailed) as caught:
        await service.put_profile("slow", {"name": "fast", "spec": {}, "colour": "red"}, actor="ann")
    assert [each.path for each in caught.value.errors] == ["name", "spec", "colour"]
    assert service.catalog.revision == 0


async def test_what_is_not_there_is_not_found_and_the_message_helps(filled: Service) -> None:
    """A typing error gets a suggestion."""
    with pytest.raises(NotFound, match=r"there is no profile 'slwo' \(did you mean 'slow'\?\)"):
        filled.get_profile("slwo")
    with pytest.raises(NotFound, match=r"there is no upstream 'zzz' \(there is 'payments'\)"):
        await filled.delete_upstream("zzz", actor="ann")
    with pytest.raises(NotFound, match="there is no fleet"):
        filled.get_fleet("zzz")


async def test_a_list_is_read_in_pages(service: Service) -> None:
    """In the order of the names; a cursor outlives the deletion of what it names."""
    for name in ("c", "a", "b", "d"):
        await service.put_upstream(name, upstream(name).document(), actor="ann")
    first = service.list_upstreams(limit=2)
    assert ([each.entity.name for each in first.items], first.next) == (["a", "b"], "b")
    await service.delete_upstream("b", actor="ann")
    second = service.list_upstreams(limit=2, cursor=first.next)
    assert ([each.entity.name for each in second.items], second.next) == (["c", "d"], None)
    with pytest.raises(ValidationFailed, match="limit: expected 1 to 1000, found 0"):
        service.list_upstreams(limit=0)


async def test_a_profile_is_rolled_back_to_what_it_was(service: Service) -> None:
    """Any revision at which it existed names a state; one that was deleted comes back."""
    await service.put_profile("slow", {"spec": SPEC, "description": "one"}, actor="ann")
    await service.put_profile("slow", {"spec": SPEC, "description": "two"}, actor="ann")
    await service.put_profile("other", {"spec": SPEC}, actor="ann")
    await service.delete_profile("slow", actor="ann")
    back = await service.rollback_profile("slow", 3, actor="bob")
    assert (back.stored.revision, back.stored.entity.description, back.created) == (5, "two", True)
    await service.rollback_profile("slow", 1, actor="bob")
    assert service.get_profile("slow").entity.description == "one"
    [revision] = (await service.list_revisions(kind="profile", key="slow", limit=1)).items
    assert (revision.action, revision.actor) == ("rollback", "bob")
    with pytest.raises(NotFound, match=r"^there is no revision 4 of profile 'slow'$"):
        await service.rollback_profile("slow", 4, actor="bob")


async def test_validation_changes_nothing(service: Service) -> None:
    """Errors have the paths of the bare specification."""
    assert (await service.validate_profile(SPEC)).responses is not None
    with pytest.raises(ValidationFailed) as caught:
        await service.validate_profile({"responses": []})
    assert isinstance(caught.value.errors[0], FieldError)
    assert caught.value.errors[0].path == "responses"
    assert service.catalog.revision == 0
