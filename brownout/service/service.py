"""The service: every use of the configuration, as the API, the dashboard and the tests call it."""

from collections.abc import Sequence

from brownout.domain import Catalog, Endpoint, Fleet, Kind, Profile, Raw, Revision, Stored, Upstream
from brownout.profile import Behavior
from brownout.service.results import Halted, Page, Plan, Written


class Service:
    """Async façade of the store.

    Reads come from the catalog in memory: they are plain methods and never wait. Writes are validated in a
    thread, committed by the one writer thread, and visible to reads when they return.

    `raw` is a parsed mapping, or one YAML or JSON document. `if_match` is the revision the caller last saw.
    Errors, all from `brownout.domain`: `ValidationFailed` (422; every field at once), `NotFound` (404),
    `Conflict` (409; `used_by`), `StaleRevision` (412); and `StoreUnavailable` from `brownout.store` (503).
    """

    @property
    def catalog(self) -> Catalog:
        """Return the present catalog."""
        raise NotImplementedError

    # -- profiles

    def get_profile(self, name: str) -> Stored[Profile]:
        raise NotImplementedError

    def list_profiles(self, *, limit: int = 100, cursor: str | None = None) -> Page[Stored[Profile]]:
        raise NotImplementedError

    async def validate_profile(self, spec: Raw) -> Behavior:
        """Check a bare specification (`responses` or `load_based` at the top)."""
        raise NotImplementedError

    async def create_profile(self, raw: Raw, *, actor: str) -> Stored[Profile]:
        """Conflict when the name is taken."""
        raise NotImplementedError

    async def put_profile(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Profile]:
        """Create or replace; `name` in the body may be left out."""
        raise NotImplementedError

    async def delete_profile(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        raise NotImplementedError

    async def rollback_profile(
        self, name: str, to: int, *, actor: str, if_match: int | None = None
    ) -> Written[Profile]:
        """Make it what it was at revision `to` (any global number at which it existed); recreates a deleted one."""
        raise NotImplementedError

    # -- upstreams

    def get_upstream(self, name: str) -> Stored[Upstream]:
        raise NotImplementedError

    def list_upstreams(self, *, limit: int = 100, cursor: str | None = None) -> Page[Stored[Upstream]]:
        raise NotImplementedError

    async def create_upstream(self, raw: Raw, *, actor: str) -> Stored[Upstream]:
        raise NotImplementedError

    async def put_upstream(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Upstream]:
        raise NotImplementedError

    async def delete_upstream(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        raise NotImplementedError

    # -- fleets (whether one is halted: `service.catalog.halted(name)`)

    def get_fleet(self, name: str) -> Stored[Fleet]:
        raise NotImplementedError

    def list_fleets(self, *, limit: int = 100, cursor: str | None = None) -> Page[Stored[Fleet]]:
        raise NotImplementedError

    async def create_fleet(self, raw: Raw, *, actor: str) -> Stored[Fleet]:
        raise NotImplementedError

    async def put_fleet(
        self, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Fleet]:
        raise NotImplementedError

    async def delete_fleet(self, name: str, *, actor: str, if_match: int | None = None) -> None:
        """Delete it with its endpoints."""
        raise NotImplementedError

    async def rollback_fleet(self, name: str, to: int, *, actor: str, if_match: int | None = None) -> Plan:
        """Make the fleet and the list of its endpoints what they were at revision `to`."""
        raise NotImplementedError

    # -- endpoints of a fleet, in order

    def get_endpoint(self, fleet: str, name: str) -> Stored[Endpoint]:
        raise NotImplementedError

    def list_endpoints(
        self, fleet: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[Stored[Endpoint]]:
        raise NotImplementedError

    async def create_endpoint(self, fleet: str, raw: Raw, *, actor: str) -> Stored[Endpoint]:
        """Append to the list."""
        raise NotImplementedError

    async def put_endpoint(
        self, fleet: str, name: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Replace in its place, or append."""
        raise NotImplementedError

    async def delete_endpoint(
        self, fleet: str, name: str, *, actor: str, if_match: int | None = None
    ) -> None:
        raise NotImplementedError

    async def put_order(
        self, fleet: str, names: Sequence[str], *, actor: str, if_match: int | None = None
    ) -> tuple[Stored[Endpoint], ...]:
        """Put the endpoints in this order, which names each exactly once. `if_match`: `catalog.lists[fleet].revision`."""
        raise NotImplementedError

    async def put_fault(
        self, fleet: str, endpoint: str, raw: Raw, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Bind a fault (`for` is accepted for `expires_at`). `if_match` and the result are the endpoint's; `created`: it had none."""
        raise NotImplementedError

    async def delete_fault(
        self, fleet: str, endpoint: str, *, actor: str, if_match: int | None = None
    ) -> Written[Endpoint]:
        """Remove the fault; NotFound when there is none."""
        raise NotImplementedError

    # -- halt

    async def halt(self, fleet: str | None, *, actor: str) -> Halted:
        """Stop all injection of a fleet (None: of all); published before it is recorded."""
        raise NotImplementedError

    async def resume(self, fleet: str | None, *, actor: str) -> Halted:
        """End a halt. A fleet cannot be resumed while all are halted (Conflict)."""
        raise NotImplementedError

    # -- a whole configuration: {profiles: […], upstreams: […], fleets: [{…, endpoints: […]}]}

    def export(self) -> dict[str, object]:
        """Return the whole configuration; applying it changes nothing."""
        raise NotImplementedError

    async def plan(self, raw: Raw, *, prune: bool = False) -> Plan:
        """Return what `apply` would do."""
        raise NotImplementedError

    async def apply(self, raw: Raw, *, actor: str, prune: bool = False) -> Plan:
        """Make it so in one transaction: creates and updates what is named, deletes the rest only with `prune`."""
        raise NotImplementedError

    # -- revisions, newest first

    async def list_revisions(
        self,
        *,
        kind: Kind | None = None,
        key: str | None = None,
        fleet: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Revision]:
        """List all, those of one thing (`kind` and `key`), or those of a fleet with its endpoints, order and halts."""
        raise NotImplementedError
