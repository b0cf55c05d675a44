"""From the catalog to programs: only what has changed is built."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec, TypeVar

from brownout.domain import Catalog, Fleet, Stored, Upstream
from xds_server.entries import Entry, Sources, compile_filter_entry, compile_route
from xds_server.node import Node
from xds_server.program import NO_FLEET, Program, carried
from xds_server.resource_set import EMPTY, Resource, ResourceSet
from xds_server.resources.cluster import cluster, endpoints
from xds_server.resources.listener import listener
from xds_server.types import CDS, EDS, LDS, TypeInfo

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Compiler:
    """Compiles catalogs, one after the other, in one thread at a time.

    What did not change keeps its identity from one catalog to the next: entries, clusters, sets of
    resources, and whole programs. A fleet that a revision does not touch costs one comparison.
    """

    def __init__(self) -> None:
        self._catalog = Catalog()
        self._programs: dict[str, Program] = {}
        self._clusters: dict[str, tuple[Stored[Upstream], Resource, Resource | None]] = {}

    def compile(
        self, catalog: Catalog, nodes: Callable[[str], Iterable[Node]], halted: Callable[[str], bool]
    ) -> Mapping[str, Program]:
        """Return the program of every fleet.

        Args:
            catalog: What is configured.
            nodes: The connected nodes of a fleet: what they need is built now.
            halted: Whether a fleet is.
        """
        before = self._catalog
        profiles = _changed(before.profiles, catalog.profiles)
        upstreams = _changed(before.upstreams, catalog.upstreams)
        programs: dict[str, Program] = {}
        for name, fleet in catalog.fleets.items():
            previous = self._programs.get(name, NO_FLEET)
            same_fleet = before.fleets.get(name) is fleet
            touched = (
                not same_fleet
                or before.lists.get(name) is not catalog.lists.get(name)
                or not profiles.isdisjoint(previous.profiles)
                or not upstreams.isdisjoint(previous.upstreams)
            )
            programs[name] = previous
            if touched:
                program = self._program(catalog, fleet.entity, previous, same_fleet=same_fleet)
                program.prepare(nodes(name), halted=halted(name), previous=previous)
                programs[name] = program
        self._catalog, self._programs = catalog, programs
        for name in self._clusters.keys() - catalog.upstreams.keys():
            del self._clusters[name]
        return programs

    def _program(self, catalog: Catalog, fleet: Fleet, previous: Program, *, same_fleet: bool) -> Program:
        problems: list[str] = []
        entries = list(_entries(catalog, fleet, previous, problems))
        common: dict[TypeInfo, ResourceSet] = {}
        if fleet.mode != "filter":
            common = self._backends(catalog, entries, problems)
            common[LDS] = previous.common[LDS] if same_fleet else _listeners(fleet, problems)
            common = {kind: carried(each, previous.common.get(kind, EMPTY)) for kind, each in common.items()}
        for problem in problems:
            if problem not in previous.problems:
                _log.error("fleet %s: %s", fleet.name, problem)
        return Program(common=common, entries=entries, in_filter=fleet.mode == "filter", problems=problems)

    def _backends(
        self, catalog: Catalog, entries: Iterable[Entry], problems: list[str]
    ) -> dict[TypeInfo, ResourceSet]:
        """Return the clusters that the entries refer to, and the endpoints of those that get them by EDS."""
        clusters: list[Resource] = []
        assignments: list[Resource] = []
        for name in sorted({each.endpoint.upstream for each in entries if each.endpoint.upstream}):
            stored = catalog.upstreams.get(name)
            if stored is None:
                problems.append(f"upstream {name}: there is none, so its routes answer 503")
                continue
            built = _attempt(f"upstream {name}", problems, self._cluster, stored)
            if built is not None:
                clusters.append(built[0])
                assignments += [] if built[1] is None else [built[1]]
        return {CDS: ResourceSet(clusters), EDS: ResourceSet(assignments)}

    def _cluster(self, stored: Stored[Upstream]) -> tuple[Resource, Resource | None]:
        upstream = stored.entity
        known = self._clusters.get(upstream.name)
        if known is None or known[0] is not stored:
            assignment = endpoints(upstream) if upstream.discovery == "eds" else None
            known = self._clusters[upstream.name] = (stored, cluster(upstream), assignment)
        return known[1:]


def _entries(catalog: Catalog, fleet: Fleet, previous: Program, problems: list[str]) -> Iterable[Entry]:
    """Yield the compiled endpoints, those that did not change as they were."""
    in_filter = fleet.mode == "filter"
    build = compile_filter_entry if in_filter else compile_route
    known = {each.endpoint.name: each for each in previous.entries} if previous.in_filter == in_filter else {}
    for stored in catalog.endpoints(fleet.name):
        sources = Sources.of(stored, catalog)
        name, fault = stored.entity.name, stored.entity.fault
        if fault is not None and fault.enabled and sources.profile is None:
            problems.append(f"endpoint {name}: there is no profile {fault.profile!r}, so it injects nothing")
        old = known.get(name)
        if old is not None and old.sources.same_as(sources):
            yield old
            continue
        entry = _attempt(f"endpoint {name}", problems, build, sources, old)
        if entry is not None:
            yield entry


def _listeners(fleet: Fleet, problems: list[str]) -> ResourceSet:
    built = (_attempt(f"listener {each.name}", problems, listener, each) for each in fleet.listeners)
    return ResourceSet(each for each in built if each is not None)


def _attempt(
    what: str, problems: list[str], build: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T | None:
    """Build a part; one that cannot be built is left out and reported, the others are delivered."""
    try:
        return build(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others are delivered)
        _log.exception("%s cannot be compiled", what)
        problems.append(f"{what}: {error}")
        return None


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> frozenset[str]:
    """Return the names whose values are not the same object in both."""
    if before is after:
        return frozenset()
    names = before.keys() | after.keys()
    return frozenset(name for name in names if before.get(name) is not after.get(name))
