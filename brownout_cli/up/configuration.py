"""What `brownout up` configures, and what it can show of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, cast

from brownout.domain import ANY_HOST, Catalog, Endpoint, Host, Listener
from brownout.profile import Behavior, parse_document
from brownout.service import Service
from brownout_cli.addresses import Address

FLEET = "edge"
UPSTREAM = "sample"
NODE = "up"
_LISTENER = "http"
_ACTOR = "up"


def first_configuration() -> dict[str, Any]:
    """The configuration of an empty store."""
    text = files("brownout_cli.up").joinpath("first.yaml").read_text()
    return cast("dict[str, Any]", parse_document(text))


def stored_listener(catalog: Catalog) -> Address | None:
    """Where the store says that the fleet's Envoys listen."""
    listener = _listener(catalog)
    return None if listener is None else Address(listener.address, listener.port)


def _listener(catalog: Catalog) -> Listener | None:
    """The one that `up` configured, or the first of others."""
    fleet = catalog.fleets.get(FLEET)
    listeners = fleet.entity.listeners if fleet else ()
    named = [each for each in listeners if each.name == _LISTENER]
    return next(iter([*named, *listeners]), None)


async def configure(service: Service, listener: Address, upstream: Address) -> None:
    """Fill an empty store; in another one, let listener and sample upstream be where they are this time."""
    catalog = service.catalog
    if not (catalog.profiles or catalog.upstreams or catalog.fleets):
        document = first_configuration()
        document["upstreams"][0]["hosts"][0].update(_host(upstream))
        document["fleets"][0]["listeners"][0].update(_host(listener))
        await service.apply(document, actor=_ACTOR)
        return
    if (stored := catalog.upstreams.get(UPSTREAM)) and stored.entity.hosts != (Host(**_host(upstream)),):
        moved = stored.entity.document() | {"hosts": [_host(upstream)]}
        await service.put_upstream(UPSTREAM, moved, actor=_ACTOR)
    if (open_now := _listener(catalog)) is not None and stored_listener(catalog) != listener:
        document = catalog.fleets[FLEET].entity.document()
        for each in document["listeners"]:
            if each["name"] == open_now.name:
                each.update(_host(listener))
        await service.put_fleet(FLEET, document, actor=_ACTOR)


def _host(address: Address) -> dict[str, Any]:
    return {"address": address.host, "port": address.port}


@dataclass(frozen=True, slots=True)
class Shown:
    """An endpoint that plain GET requests reach.

    Attributes:
        path: for such requests.
        behavior: what is injected into every response; None when nothing is, or only into a part of them.
    """

    path: str
    behavior: Behavior | None


def shown_endpoints(catalog: Catalog) -> Mapping[str, Shown]:
    """The endpoints that lead to the sample upstream and can be shown, by name, in order."""
    found: dict[str, Shown] = {}
    for stored in catalog.endpoints(FLEET):
        endpoint = stored.entity
        match = endpoint.match
        plain = (
            ANY_HOST in match.hosts and not match.headers and (not match.methods or "GET" in match.methods)
        )
        path = match.exact or match.prefix or "/"
        taken = any(path.startswith(other.path) for other in found.values())
        if plain and not taken and endpoint.upstream == UPSTREAM:
            found[endpoint.name] = Shown(path, _injected(catalog, endpoint))
    return found


def _injected(catalog: Catalog, endpoint: Endpoint) -> Behavior | None:
    fault = endpoint.fault
    if fault is None or not fault.enabled or catalog.halted(FLEET):
        return None
    expired = fault.expires_at is not None and fault.expires_at <= datetime.now(UTC)
    elsewhere = fault.nodes is not None and not fault.nodes.matches(NODE, {}, {})
    if expired or elsewhere or fault.percent < 100:
        return None
    return catalog.profiles[fault.profile].entity.spec
