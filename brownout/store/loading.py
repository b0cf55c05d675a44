"""From rows to a catalog; what cannot be read is left out and reported."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from sqlalchemy import func
from sqlmodel import Session, col, select

from brownout.domain import (
    Catalog,
    Damage,
    Endpoint,
    EndpointList,
    FieldError,
    Fleet,
    Kind,
    Named,
    Profile,
    Stored,
    Upstream,
    ValidationFailed,
    settled,
)
from brownout.store.documents import from_text
from brownout.store.tables import EndpointRow, FleetRow, HaltRow, ProfileRow, RevisionRow, UpstreamRow

M = TypeVar("M", bound=Named)

_DANGLING = "fault.profile"


def load_catalog(session: Session) -> Catalog:
    """Read everything, in one transaction of the caller's."""
    loader = _Loader()
    profiles = loader.all(Profile, session.exec(select(ProfileRow)))
    upstreams = loader.all(Upstream, session.exec(select(UpstreamRow)))
    fleet_rows = session.exec(select(FleetRow)).all()
    fleets = loader.all(Fleet, fleet_rows)
    endpoint_rows: defaultdict[str, list[EndpointRow]] = defaultdict(list)
    for endpoint_row in session.exec(select(EndpointRow).order_by(col(EndpointRow.position))):
        endpoint_rows[endpoint_row.fleet].append(endpoint_row)
    lists = {
        row.name: EndpointList(
            tuple(
                endpoint
                for each in endpoint_rows[row.name]
                if (endpoint := loader.endpoint(each, fleets[row.name].entity, profiles, upstreams))
                is not None
            ),
            row.endpoints_revision,
        )
        for row in sorted(fleet_rows, key=lambda row: row.name)
        if row.name in fleets
    }
    for fleet in endpoint_rows.keys() - fleets.keys():
        state = "is damaged" if ("fleet", fleet) in loader.damaged else "does not exist"
        for each in endpoint_rows[fleet]:
            loader.damage_endpoint(each, [FieldError("", f"its fleet {fleet!r} {state}")])
    return Catalog(
        revision=session.exec(select(func.max(RevisionRow.number))).one() or 0,
        profiles=profiles,
        upstreams=upstreams,
        fleets=fleets,
        lists=lists,
        halts=frozenset(session.exec(select(HaltRow.key))),
        damaged=loader.damaged,
    )


class _Loader:
    """Reads documents and collects what is damaged."""

    def __init__(self) -> None:
        self.damaged: dict[tuple[Kind, str], Damage] = {}

    def all(
        self, model: type[M], rows: Iterable[ProfileRow | UpstreamRow | FleetRow]
    ) -> dict[str, Stored[M]]:
        """Return the sound ones by name, in the order of the names."""
        sound: dict[str, Stored[M]] = {}
        for row in sorted(rows, key=lambda row: row.name):
            try:
                sound[row.name] = Stored(_read(model, row.name, row.document), row.revision)
            except ValidationFailed as failed:
                self._damage(model.kind, row.name, failed.errors, row.document)
        return sound

    def endpoint(
        self,
        row: EndpointRow,
        fleet: Fleet,
        profiles: Mapping[str, Stored[Profile]],
        upstreams: Mapping[str, Stored[Upstream]],
    ) -> Stored[Endpoint] | None:
        """Return the endpoint, without its fault when only that is damaged."""
        try:
            endpoint = _read(Endpoint, row.name, row.document)
            try:
                return Stored(settled(endpoint, fleet, profiles=profiles, upstreams=upstreams), row.revision)
            except ValidationFailed as failed:
                if any(error.path != _DANGLING for error in failed.errors):
                    raise
                self.damage_endpoint(row, failed.errors)
                return Stored(endpoint.model_copy(update={"fault": None}), row.revision)
        except ValidationFailed as failed:
            self.damage_endpoint(row, failed.errors)
            return None

    def damage_endpoint(self, row: EndpointRow, errors: Iterable[FieldError]) -> None:
        """Report an endpoint, with what the store's own columns say it refers to."""
        uses: list[tuple[Kind, str]] = []
        if row.upstream is not None:
            uses.append(("upstream", row.upstream))
        if row.profile is not None:
            uses.append(("profile", row.profile))
        self._damage("endpoint", f"{row.fleet}/{row.name}", errors, row.document, tuple(uses))

    def _damage(
        self,
        kind: Kind,
        key: str,
        errors: Iterable[FieldError],
        text: str,
        uses: tuple[tuple[Kind, str], ...] = (),
    ) -> None:
        try:
            document: Any = from_text(text)
        except ValidationFailed:
            document = None
        mapping = document if isinstance(document, dict) else None
        self.damaged[kind, key] = Damage(kind, key, tuple(errors), mapping, uses)


def _read(model: type[M], name: str, text: str) -> M:
    entity: M = model.load(from_text(text))
    if entity.name != name:
        raise ValidationFailed(
            [FieldError("name", f"expected {name!r}, under which it is stored, not {entity.name!r}")]
        )
    return entity
