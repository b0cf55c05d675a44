"""An endpoint, compiled: the smallest piece that is built, and built once."""

from dataclasses import dataclass
from typing import TypeVar

from brownout.domain import Endpoint, Named, NodeSelector, Profile, Stored
from brownout.domain.catalog import Catalog
from xds_server.resources.fault import entry_text, route_text
from xds_server.resources.route import route, with_fault

E = TypeVar("E", bound=Named)


@dataclass(frozen=True, slots=True)
class Sources:
    """What an endpoint is compiled from."""

    endpoint: Stored[Endpoint]
    profile: Stored[Profile] | None

    @classmethod
    def of(cls, endpoint: Stored[Endpoint], catalog: Catalog) -> "Sources":
        """Find them; the profile only where it is injected."""
        fault = endpoint.entity.fault
        profile = catalog.profiles.get(fault.profile) if fault is not None and fault.enabled else None
        return cls(endpoint, profile)

    def same_as(self, other: "Sources") -> bool:
        """Whether both compile to the same bytes."""
        return _same(self.endpoint, other.endpoint) and _same(self.profile, other.profile)


def _same(one: Stored[E] | None, other: Stored[E] | None) -> bool:
    if one is other:
        return True
    if one is None or other is None:
        return False
    return one.revision == other.revision and one.entity == other.entity


@dataclass(frozen=True, slots=True)
class Entry:
    """A compiled endpoint.

    Attributes:
        sources: What it was made from.
        injecting: A serialised Route, or entries of `endpoints[]`, for the nodes that inject the fault.
        plain: The same for all others.
        selector: Which nodes inject; None is all.
    """

    sources: Sources
    injecting: bytes
    plain: bytes
    selector: NodeSelector | None

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint."""
        return self.sources.endpoint.entity


def compile_route(sources: Sources, old: Entry | None) -> Entry:
    """Compile an endpoint of a fleet whose routes are ours; `old` is what it was before.

    The route is built only when the endpoint has changed in something else than its fault: a profile may
    change often.
    """
    endpoint, profile = sources.endpoint.entity, sources.profile
    fault = endpoint.fault
    plain = old.plain if old is not None and _same_but_fault(old.endpoint, endpoint) else route(endpoint)
    if fault is None or profile is None:
        return Entry(sources, plain, plain, None)
    injecting = with_fault(plain, route_text(endpoint, fault, profile))
    return Entry(sources, injecting, plain, fault.nodes)


def _same_but_fault(one: Endpoint, other: Endpoint) -> bool:
    return one is other or one.model_copy(update={"fault": other.fault}) == other


def compile_filter_entry(sources: Sources, _old: Entry | None) -> Entry:
    """Compile an endpoint of a fleet that gets the filter's configuration only."""
    endpoint, profile = sources.endpoint.entity, sources.profile
    fault = endpoint.fault
    plain = entry_text(endpoint, None, None).encode()
    if fault is None or profile is None:
        return Entry(sources, plain, plain, None)
    injecting = entry_text(endpoint, fault, profile).encode()
    return Entry(sources, injecting, plain, fault.nodes)
