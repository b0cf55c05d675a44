"""`/profiles`: named fault behaviours, their validation and their history."""

import asyncio
from collections.abc import Mapping

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import gone, place, show, show_unless_known, written
from api.deps import Actor, Body, Cached, Core, JsonBody, Paged, ProfileName, Write
from api.documented import CREATES, DELETED, UNCHANGED, WRITES, problems, shows, takes
from api.requests import rollback_target
from api.schemas.profile import Profile, ProfileChecked, ProfileList, ProfileSpec, ProfileUpdate, Rollback
from api.schemas.revision import RevisionList
from api.views import revision_view
from brownout.domain import NotFound
from brownout.domain import Profile as ProfileEntity
from brownout.profile import dump

router = APIRouter(prefix="/profiles", tags=["profiles"])


@router.get(
    "", summary="List profiles", responses={**shows(ProfileList, "By name.", etag=False), **problems(422)}
)
async def list_profiles(core: Core, page: Paged) -> Response:
    """All profiles, sorted by name, in pages."""
    found = core.list_profiles(limit=page.limit, cursor=page.cursor)
    return show({"items": [each.entity.document() for each in found.items], "next": found.next})


@router.post(
    "",
    summary="Create a profile",
    status_code=201,
    responses={**shows(Profile, "Created.", status=201), **problems(*CREATES)},
    openapi_extra=takes(Profile, yaml=True),
)
async def create_profile(core: Core, body: Body, actor: Actor) -> Response:
    """A new profile; 409 when the name is taken."""
    stored = await core.create_profile(body, actor=actor)
    return show(
        stored.entity.document(),
        revision=stored.revision,
        status=201,
        location=place("profiles", stored.entity.name),
    )


@router.post(
    "/validate",
    summary="Check a profile",
    responses={**shows(ProfileChecked, "It is valid.", etag=False), **problems(400, 413, 415, 422)},
    openapi_extra=takes(ProfileUpdate, ProfileSpec, yaml=True),
)
async def validate_profile(core: Core, body: Body) -> Response:
    """Check a profile, or a bare specification, without storing it; 422 names every faulty place."""
    if isinstance(body, Mapping) and "spec" in body:
        # Its name may be left out, as in PUT; any will do.
        profile = await asyncio.to_thread(ProfileEntity.load, {"name": "unnamed", **body})
        spec = profile.spec
    else:
        spec = await core.validate_profile(body)
    return show({"valid": True, "spec": dump(spec)})


@router.get(
    "/{name}",
    summary="Show a profile",
    responses={**shows(Profile, "The profile."), **UNCHANGED, **problems(404)},
)
async def get_profile(core: Core, name: ProfileName, cached: Cached) -> Response:
    """The profile as its author wrote it."""
    stored = core.get_profile(name)
    return show_unless_known(stored.entity.document(), stored.revision, cached)


@router.put(
    "/{name}",
    summary="Create or replace a profile",
    responses={
        **shows(Profile, "Replaced, or the same already."),
        **shows(Profile, "Created.", status=201),
        **problems(*WRITES),
    },
    openapi_extra=takes(ProfileUpdate, yaml=True),
)
async def put_profile(core: Core, name: ProfileName, body: Body, write: Write) -> Response:
    """Every endpoint whose fault uses it changes within a moment."""
    present = core.catalog.profiles.get(name)
    guard = write.conditions.guard(f"profile {name!r}", present)
    outcome = await core.put_profile(name, body, actor=write.actor, if_match=guard)
    return written(
        outcome.stored.entity.document(),
        revision=outcome.stored.revision,
        created=outcome.created,
        location=place("profiles", name),
    )


@router.delete(
    "/{name}",
    summary="Delete a profile",
    status_code=204,
    responses={**DELETED, **problems(404, 409, 412, 503)},
)
async def delete_profile(core: Core, name: ProfileName, write: Write) -> Response:
    """409 while a fault uses it; `errors` names the endpoints."""
    guard = write.conditions.guard(f"profile {name!r}", core.catalog.profiles.get(name))
    await core.delete_profile(name, actor=write.actor, if_match=guard)
    return gone()


@router.get(
    "/{name}/revisions",
    summary="A profile's history",
    responses={**shows(RevisionList, "The newest first.", etag=False), **problems(404, 422)},
)
async def list_profile_revisions(core: Core, name: ProfileName, page: Paged) -> Response:
    """Every change of the profile, also of one that is deleted by now."""
    found = await core.list_revisions(kind="profile", key=name, limit=page.limit, cursor=page.cursor)
    if not found.items and page.cursor is None:
        raise NotFound("profile", name, core.catalog.profiles)
    return show({"items": [revision_view(each) for each in found.items], "next": found.next})


@router.post(
    "/{name}/rollback",
    summary="Return to a former content",
    responses={**shows(Profile, "What it is now."), **problems(*WRITES, 404)},
    openapi_extra=takes(Rollback),
)
async def rollback_profile(core: Core, name: ProfileName, body: JsonBody, write: Write) -> Response:
    """Make it what it was at a revision; this is a change like any other and has a revision of its own."""
    guard = write.conditions.guard(f"profile {name!r}", core.catalog.profiles.get(name))
    outcome = await core.rollback_profile(name, rollback_target(body), actor=write.actor, if_match=guard)
    return show(outcome.stored.entity.document(), revision=outcome.stored.revision)
