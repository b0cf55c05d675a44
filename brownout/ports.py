"""What the core and the API need of the other parts; the composition root wires it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from brownout.profile import Behavior

ResourceType = Literal["cds", "eds", "lds", "rds", "ecds"]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a node last acknowledged of one resource type.

    Attributes:
        version: The version it acknowledged.
        revision: The newest catalog revision whose content for this node has that version.
        at: When.
    """

    version: str
    revision: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Rejection:
    """A NACK that is outstanding.

    Attributes:
        text: Envoy's text.
        finding: What our own check of what was sent finds; null when nothing.
        at: When.
    """

    text: str
    finding: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One Envoy, connected now or a while ago.

    Attributes:
        id: `node.id`.
        fleet: `node.cluster`.
        connected: Whether it has an open stream.
        since: When that state began.
        version: Envoy's version (`1.40.0`); null when it did not say.
        locality: `region`, `zone`, `sub_zone`, as far as given.
        metadata: `node.metadata`.
        schema_version: Of its module, from the metadata; null when it did not say.
        acknowledged: Per resource type.
        rejected: Outstanding NACKs per resource type.
        refused: Why it is kept out of its fleet; null for a node that is not.
    """

    id: str
    fleet: str
    connected: bool
    since: datetime
    version: str | None = None
    locality: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    schema_version: int | None = None
    acknowledged: Mapping[ResourceType, Acknowledged] = field(default_factory=dict)
    rejected: Mapping[ResourceType, Rejection] = field(default_factory=dict)
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Convergence:
    """How far a fleet is.

    Attributes:
        revision: The catalog revision that the nodes should have.
        nodes: How many are connected.
        current: How many of them acknowledged it for every type.
        rejecting: How many have a NACK outstanding.
    """

    revision: int
    nodes: int
    current: int
    rejecting: int

    @property
    def converged(self) -> bool:
        """Whether every connected node has the revision and none has rejected anything."""
        return self.current == self.nodes and self.rejecting == 0


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Something happened to a node; `node` is its state afterwards."""

    kind: Literal["connected", "disconnected", "refused", "acknowledged", "rejected", "forgotten"]
    node: NodeStatus


class FleetStatus(Protocol):
    """What the control plane knows of the Envoys."""

    def nodes(self, fleet: str | None = None) -> Sequence[NodeStatus]:
        """Return the nodes of one fleet or of all."""
        ...

    def converged(self, fleet: str) -> Convergence:
        """Return how far `fleet` is."""
        ...

    def events(self) -> AsyncIterator[NodeEvent]:
        """Yield what happens from now on; a reader that falls behind misses the oldest."""
        ...


class Simulator(Protocol):
    """The engine that Envoy runs, as a function."""

    def simulate(
        self, behavior: Behavior, n: int, *, in_flight: int = 0
    ) -> tuple[Sequence[int], Sequence[float]]:
        """Draw `n` times: HTTP statuses and latencies in seconds."""
        ...
