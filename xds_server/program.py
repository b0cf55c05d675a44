"""A compiled fleet: what all of its nodes get, and what depends on the node."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from brownout.domain import NodeSelector
from brownout.profile import canonical_json
from xds_server.entries import Entry
from xds_server.node import Node
from xds_server.resource_set import Resource, ResourceSet
from xds_server.resources.extension import extension
from xds_server.resources.fault import filter_text
from xds_server.resources.route_configuration import route_configuration
from xds_server.snapshot import Snapshot
from xds_server.types import ECDS, RDS, TypeInfo

Target = tuple[bool, ...]
"""Which of a fleet's node selectors select a node: nodes with the same answer get the same."""


class Program:
    """All snapshots of a fleet.

    Attributes:
        common: The resources that all nodes share: clusters, endpoints, listeners.
        entries: The compiled endpoints, in order.
        in_filter: Whether the endpoints go into the filter's configuration, not into routes.
        problems: What was left out, and why.
        upstreams: The names of those that the endpoints refer to.
        profiles: The same for profiles.
    """

    def __init__(
        self,
        *,
        common: Mapping[TypeInfo, ResourceSet] | None = None,
        entries: Sequence[Entry] | None = None,
        in_filter: bool = False,
        problems: Sequence[str] = (),
    ) -> None:
        self.common = common or {}
        self.entries = () if entries is None else tuple(entries)
        self.in_filter = in_filter
        self.problems = tuple(problems)
        self._exists = entries is not None
        self._selectors = _distinct(each.selector for each in self.entries)
        endpoints = [each.endpoint for each in self.entries]
        self.upstreams = frozenset(each.upstream for each in endpoints if each.upstream is not None)
        self.profiles = frozenset(each.fault.profile for each in endpoints if each.fault is not None)
        self._built: dict[object, ResourceSet] = {}
        self._previous: Mapping[str, ResourceSet] = {}

    def target(self, node: Node) -> Target:
        """Return which snapshot `node` gets."""
        return tuple(each.matches(node.id, node.locality, node.metadata) for each in self._selectors.values())

    def prepare(self, nodes: Iterable[Node], *, halted: bool, previous: "Program") -> None:
        """Build what `nodes` need, and carry on what has not changed since `previous`."""
        # The loop may use `previous` at the same time: a copy in one step.
        built = list(previous._built.values())  # noqa: SLF001 (its own kind)
        self._previous = {each.version: each for each in built}
        for target in {self.target(node) for node in nodes} | {self.no_target}:
            self.snapshot(target, halted=halted)
        self._previous = {}

    @property
    def no_target(self) -> Target:
        """The target that no selector selects."""
        return (False,) * len(self._selectors)

    def snapshot(self, target: Target, *, halted: bool) -> Snapshot:
        """Return the snapshot of a target; its parts are built at their first use."""
        sets = {**self.common, ECDS: self._extension(target, halted=halted)}
        if self.in_filter or not self._exists:
            return Snapshot(sets)
        sets[RDS] = self._once((RDS.key, target), lambda: ResourceSet([self._routes(target)]))
        return Snapshot(sets, self.upstreams)

    def _extension(self, target: Target, *, halted: bool) -> ResourceSet:
        if not self.in_filter:
            return _nothing_but_the_halt(halted)
        return self._once((ECDS.key, target, halted), lambda: self._endpoints(target, halted=halted))

    def _endpoints(self, target: Target, *, halted: bool) -> ResourceSet:
        texts = (part.decode() for _, part in self._parts(target))
        return ResourceSet([extension(filter_text(texts, halted=halted))])

    def _routes(self, target: Target) -> Resource:
        return route_configuration(
            [(entry.endpoint.match.hosts, part) for entry, part in self._parts(target)]
        )

    def _parts(self, target: Target) -> Iterable[tuple[Entry, bytes]]:
        """Yield each entry with the form of it that a target gets."""
        chosen = dict(zip(self._selectors, target, strict=True))
        for entry in self.entries:
            selected = entry.selector is None or chosen[_key(entry.selector)]
            yield entry, entry.injecting if selected else entry.plain

    def _once(self, key: object, make: Callable[[], ResourceSet]) -> ResourceSet:
        found = self._built.get(key)
        if found is None:
            made = make()
            found = self._built[key] = self._previous.get(made.version, made)
        return found


def carried(new: ResourceSet, old: ResourceSet) -> ResourceSet:
    """Return `old` if `new` has the same content: what is the same object is known to be unchanged."""
    return old if new.version == old.version else new


@cache
def _nothing_but_the_halt(halted: bool) -> ResourceSet:
    return ResourceSet([extension(filter_text(None, halted=halted))])


def _key(selector: NodeSelector) -> str:
    return canonical_json(selector.document())


def _distinct(selectors: Iterable[NodeSelector | None]) -> Mapping[str, NodeSelector]:
    return {_key(each): each for each in selectors if each is not None}


NO_FLEET = Program()
"""What the Envoys of a fleet that does not exist get: nothing, and a filter that injects nothing."""
