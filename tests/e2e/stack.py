"""Configurations for the whole chain, small enough to read in a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import EnvoyProcess, ServerProcess, Upstream, free_port

FLEET = "edge"


def constant(*responses: tuple[int, str] | tuple[int, str, int]) -> dict[str, Any]:
    """A profile's spec: each status with one latency, and optionally its weight."""
    return {
        "responses": [
            {
                "status": status,
                "resolution": weight[0] if weight else 100,
                "distribution": {"p0": latency, "p100": latency},
            }
            for status, latency, *weight in responses
        ]
    }


def endpoint(name: str, prefix: str, profile: str | None = None, **fields: Any) -> dict[str, Any]:
    """An endpoint on a path prefix that leads to the upstream `backend`."""
    fault = {"fault": {"profile": profile}} if profile else {}
    return {"name": name, "match": {"prefix": prefix}, "upstream": "backend"} | fault | fields


@dataclass
class Stack:
    """Upstream, control plane and one Envoy of the fleet `edge`, all real."""

    upstream: Upstream
    server: ServerProcess
    envoy: EnvoyProcess
    port: int

    @property
    def address(self) -> tuple[str, int]:
        """Where Envoy accepts requests."""
        return "127.0.0.1", self.port

    def set_profile(self, name: str, spec: Mapping[str, Any]) -> None:
        """PUT a profile."""
        self.server.put(f"profiles/{name}", {"spec": spec})

    def set_fault(self, name: str, profile: str, **fields: Any) -> None:
        """PUT the fault of an endpoint."""
        self.server.put(f"fleets/{FLEET}/endpoints/{name}/fault", {"profile": profile} | fields)

    def clear_fault(self, name: str) -> None:
        """DELETE the fault of an endpoint."""
        self.server.delete(f"fleets/{FLEET}/endpoints/{name}/fault")

    def settle(self) -> None:
        """Wait until Envoy has all that is configured."""
        self.server.wait_converged(FLEET)


def configuration(
    port: int, upstream_port: int, *, profiles: Mapping[str, Any], endpoints: list[dict[str, Any]]
) -> dict[str, Any]:
    """A whole configuration with the fleet `edge` and the upstream `backend`."""
    return {
        "profiles": [{"name": name, "spec": spec} for name, spec in profiles.items()],
        "upstreams": [{"name": "backend", "hosts": [{"address": "127.0.0.1", "port": upstream_port}]}],
        "fleets": [
            {
                "name": FLEET,
                "listeners": [{"name": "http", "address": "127.0.0.1", "port": port}],
                "endpoints": endpoints,
            }
        ],
    }


@contextmanager
def running(
    folder: Path, *, profiles: Mapping[str, Any], endpoints: list[dict[str, Any]], **envoy_options: Any
) -> Iterator[Stack]:
    """Start everything with a configuration, and end it; `envoy_options` go to `ServerProcess.envoy`."""
    port = free_port()
    with Upstream() as upstream, ServerProcess(folder / "brownout.db") as server:
        server.apply(configuration(port, upstream.port, profiles=profiles, endpoints=endpoints))
        with server.envoy(FLEET, **envoy_options) as envoy:
            server.wait_converged(FLEET)
            yield Stack(upstream, server, envoy, port)
