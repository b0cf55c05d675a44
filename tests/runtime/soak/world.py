"""The Envoy of the soak: its configuration, nearly all of it from files, and the pushes that change it."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.runtime.discovery import discovered_filter, write_filter, write_routes
from tests.support import cluster, listener

from .asks import Address
from .flood import SIZES
from .places import CHANGING, CHEAP, COMING, GRPC, MIRROR, STABLE, level, routes

POSITIONS = ("both", "upstream", "downstream")
LIMITS = {"limit-1k": 1024, "limit-16k": 16_384, "limit-32k": 32_768, "limit-default": None, "limit-none": 0}
NO_TUNNELS = "limit-16k"
_TYPE = "type.googleapis.com/envoy.config."
_RESOURCES = ("listeners", "clusters", "routes", "filter")


def origin() -> dict[str, Any]:
    """A plain Envoy that answers at once, over either protocol, with the size that the query says."""
    answers = [
        {
            "match": {
                "prefix": "/",
                "query_parameters": [{"name": "size", "string_match": {"exact": str(size)}}],
            },
            "direct_response": {"status": 200, "body": {"inline_string": "o" * size} if size else None},
        }
        for size in SIZES
    ]
    served = listener(answers)
    _manager(served)["route_config"]["max_direct_response_body_size_bytes"] = max(SIZES)
    return {
        "node": {"id": "origin", "cluster": "origin"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "static_resources": {"listeners": [served]},
    }


def _manager(of: dict[str, Any]) -> dict[str, Any]:
    manager: dict[str, Any] = of["filter_chains"][0]["filters"][0]["typed_config"]
    return manager


class World:
    """The configuration of one Envoy.

    Args:
        folder: where its files go.
        position: one of `POSITIONS`: where the filter stands.
        ports: of the hostile upstream, the gRPC server and the origin.
        rng: decides what the pushes change.
    """

    def __init__(self, folder: Path, position: str, ports: tuple[int, int, int], rng: random.Random) -> None:
        self._files = {name: folder / name / f"{name}.json" for name in _RESOURCES}
        self._position = position
        self._upstream, self._grpc, self._origin = ports
        self._rng = rng
        # An address of its own, so that nobody else's port is in the way when a listener comes back.
        self._host = f"127.{rng.randint(1, 254)}.{rng.randint(1, 254)}.{rng.randint(1, 254)}"
        self._limits = {name: rng.choice(list(LIMITS.values())) for name in (*STABLE, MIRROR, GRPC, *CHEAP)}
        self.versions = dict.fromkeys(_RESOURCES, 0)
        # Each in a folder of its own: Envoy reads a file again when anything in its folder moves.
        for file in self._files.values():
            file.parent.mkdir(parents=True)
        self._mirror_http2 = rng.random() < 0.5
        self._halted = False
        for name in _RESOURCES:
            self.push(name)

    @property
    def addresses(self) -> dict[str, Address]:
        """Of all listeners, present or not."""
        return {
            name: (self._host, 10_000 + number) for number, name in enumerate([*LIMITS, CHANGING, COMING])
        }

    def bootstrap(self) -> dict[str, Any]:
        """What Envoy starts with."""
        return {
            "node": {"id": "test", "cluster": "test"},
            "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
            "dynamic_resources": {
                "cds_config": self._source("clusters"),
                "lds_config": self._source("listeners"),
            },
        }

    def push(self, name: str) -> None:
        """Deliver one of `listeners`, `clusters`, `routes` and `filter` anew."""
        self.versions[name] += 1
        getattr(self, f"_push_{name}")(self.versions[name])

    def halt(self, *, halted: bool) -> None:
        """Halt, or resume."""
        self._halted = halted
        self.push("filter")

    def _push_routes(self, number: int) -> None:
        write_routes(self._files["routes"], routes(number), str(number))

    def _push_filter(self, number: int) -> None:
        write_filter(self._files["filter"], level(halted=self._halted, version=number), str(number))

    def _push_clusters(self, number: int) -> None:
        """One changes, its protocol perhaps, one comes or goes."""
        rng, filters = self._rng, self._filters("downstream")
        found = [
            self._cluster("http1", self._upstream, filters),
            self._cluster("http2", self._upstream, filters, http2=True),
            self._cluster(MIRROR, self._upstream, filters, http2=self._mirror_http2),
            self._cluster(GRPC, self._grpc, filters, http2=True),
            self._cluster(CHEAP[0], self._origin, filters),
            self._cluster(CHEAP[1], self._origin, filters, http2=True),
        ]
        changing = cluster(self._upstream, name=CHANGING, http2=rng.random() < 0.5, filters=filters)
        changing["per_connection_buffer_limit_bytes"] = rng.choice([1024, 16_384, 32_768, 0, 1 << 20])
        changing["connect_timeout"] = f"{rng.randint(1, 5)}s"
        found.append(changing)
        if rng.random() < 0.6:
            found.append(cluster(self._upstream, name=COMING, http2=rng.random() < 0.5, filters=filters))
        self._deliver("clusters", number, "cluster.v3.Cluster", found)

    def _push_listeners(self, number: int) -> None:
        """The limit of one changes, one comes or goes."""
        found = [self._listener(name, limit) for name, limit in LIMITS.items()]
        found.append(self._listener(CHANGING, self._rng.randint(1000, 100_000)))
        if self._rng.random() < 0.6:
            found.append(self._listener(COMING, self._rng.choice(list(LIMITS.values()))))
        self._deliver("listeners", number, "listener.v3.Listener", found)

    def _filters(self, other: str) -> Sequence[dict[str, Any]]:
        """The filter, unless it stands at the other place alone."""
        if self._position == other:
            return []
        found = discovered_filter(self._files["filter"])
        # What a new listener or cluster begins with says nothing, so that it does not end a halt.
        del found["config_discovery"]["default_config"]["filter_config"]
        return [found]

    def _cluster(
        self, name: str, port: int, filters: Sequence[Mapping[str, Any]], *, http2: bool = False
    ) -> dict[str, Any]:
        found = cluster(port, name=name, http2=http2, filters=filters)
        return _limited(found, self._limits[name])

    def _listener(self, name: str, limit: int | None) -> dict[str, Any]:
        found = listener([], name=name, filters=self._filters("upstream"))
        host, port = self.addresses[name]
        found["address"]["socket_address"] = {"address": host, "port_value": port}
        manager = _manager(found)
        del manager["route_config"]
        # Where tunnels are not configured, Envoy refuses them by itself.
        upgrades = ["websocket"] if name == NO_TUNNELS else ["websocket", "CONNECT"]
        manager |= {
            "rds": {"route_config_name": "brownout", "config_source": self._source("routes")},
            "upgrade_configs": [{"upgrade_type": upgrade} for upgrade in upgrades],
            "http2_protocol_options": {"allow_connect": True},
            "drain_timeout": "0.5s",
        }
        return _limited(found, limit)

    def _source(self, name: str) -> dict[str, Any]:
        path = self._files[name]
        watched = {"path": str(path), "watched_directory": {"path": str(path.parent)}}
        return {"path_config_source": watched, "resource_api_version": "V3"}

    def _deliver(self, name: str, number: int, kind: str, resources: Sequence[Mapping[str, Any]]) -> None:
        typed = [{"@type": f"{_TYPE}{kind}"} | dict(resource) for resource in resources]
        fresh = self._files[name].with_suffix(".new")
        fresh.write_text(json.dumps({"version_info": str(number), "resources": typed}))
        fresh.replace(self._files[name])


def _limited(resource: dict[str, Any], limit: int | None) -> dict[str, Any]:
    return resource if limit is None else resource | {"per_connection_buffer_limit_bytes": limit}
