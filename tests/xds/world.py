"""A configuration to play with, published straight to a server: no store, no REST."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from brownout.domain import Catalog, Endpoint, EndpointList, Fleet, Named, Profile, Stored, Upstream
from tests.xds.client import eventually
from xds_server import XdsServer

FLEET = "edge"
SLOW = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p50": "1ms", "p100": "2ms"}}]}


def upstream(name: str, *, port: int = 9000, **fields: Any) -> Upstream:
    return Upstream.load({"name": name, "hosts": [{"address": "127.0.0.1", "port": port}], **fields})


def endpoint(name: str, to: str | None = None, **fields: Any) -> Endpoint:
    document = {"name": name, "match": {"prefix": f"/{name}"}, "upstream": to or name, **fields}
    return Endpoint.load({key: value for key, value in document.items() if value is not ...})


def profile(name: str = "slow", spec: Mapping[str, Any] = SLOW) -> Profile:
    return Profile.load({"name": name, "spec": spec})


def gateway(name: str = FLEET, *, listeners: Iterable[str] = ("http",), port: int = 10000) -> Fleet:
    entries = [
        {"name": each, "address": "127.0.0.1", "port": port + index} for index, each in enumerate(listeners)
    ]
    return Fleet.load({"name": name, "listeners": entries})


class World:
    """What is configured; every `commit` is a revision that shares what it does not change."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self._servers: list[XdsServer] = []

    def connect(self, server: XdsServer) -> None:
        """Publish to this server, too."""
        self._servers.append(server)
        if self.catalog.revision:
            server.publish(self.catalog)

    def change(
        self,
        *entities: Named,
        fleet: str = FLEET,
        remove: Iterable[tuple[str, str]] = (),
        order: Iterable[str] | None = None,
        halts: Iterable[str] | None = None,
    ) -> int:
        """Make one revision of several changes and publish it; return its number.

        Args:
            entities: To create or replace; endpoints in `fleet`.
            fleet: See there.
            remove: `("upstream", name)` and so on.
            order: The names of the fleet's endpoints in a new order.
            halts: The halted fleets from now on.
        """
        old = self.catalog
        number = old.revision + 1
        profiles, upstreams = dict(old.profiles), dict(old.upstreams)
        fleets, lists = dict(old.fleets), dict(old.lists)
        items = {each.entity.name: each for each in old.endpoints(fleet)}
        for entity in entities:
            match entity:
                case Profile():
                    profiles[entity.name] = Stored(entity, number)
                case Upstream():
                    upstreams[entity.name] = Stored(entity, number)
                case Fleet():
                    fleets[entity.name] = Stored(entity, number)
                    lists.setdefault(entity.name, EndpointList(revision=number))
                case Endpoint():
                    items[entity.name] = Stored(entity, number)
        for kind, name in remove:
            found: dict[str, dict[str, Any]] = {"profile": profiles, "upstream": upstreams}
            found |= {"endpoint": items, "fleet": fleets}
            del found[kind][name]
        if order is not None:
            items = {name: items[name] for name in order}
        if tuple(items.values()) != old.endpoints(fleet):
            lists[fleet] = EndpointList(tuple(items.values()), number)
        self.catalog = Catalog(
            revision=number,
            profiles=profiles if profiles != old.profiles else old.profiles,
            upstreams=upstreams if upstreams != old.upstreams else old.upstreams,
            fleets=fleets if fleets != old.fleets else old.fleets,
            lists={name: each for name, each in lists.items() if name in fleets},
            halts=old.halts if halts is None else frozenset(halts),
        )
        for server in self._servers:
            server.publish(self.catalog)
        return number

    async def commit(self, *entities: Named, **changes: Any) -> int:
        """`change`, and wait until the servers have compiled it."""
        number = self.change(*entities, **changes)
        await self.published()
        return number

    async def published(self) -> None:
        """Wait until the servers have compiled what was published."""
        for each in self._servers:
            await eventually(partial(self._compiled, each), 20)

    def _compiled(self, server: XdsServer) -> bool:
        return server.status.converged(FLEET).revision >= self.catalog.revision
