"""What the composition root wires into the API."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CollectorRegistry

from api.events import EventStreams
from brownout.domain import Catalog
from brownout.ports import FleetStatus
from brownout.service import Service


class Catalogs(Protocol):
    """Where new catalogs come from (the change feed)."""

    def subscribe(self) -> AsyncIterator[Catalog]:
        """Yield the present catalog, then each new one; a slow reader skips to the newest."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects behind the routes.

    Attributes:
        service: every use of the configuration.
        status: what the control plane knows of the Envoys.
        catalogs: the change feed.
        registry: what `/metrics` shows.
        ready: named checks of `/readyz`; true is ready.
        streams: the open event streams.
    """

    service: Service
    status: FleetStatus
    catalogs: Catalogs
    registry: CollectorRegistry
    ready: Callable[[], Mapping[str, bool]]
    streams: EventStreams
