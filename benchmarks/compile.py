"""Compiling one changed endpoint.

What a change costs must not grow with fleets, or with endpoints, that did not change; with the number of
the fleet's own endpoints it grows by the splicing.
"""

import statistics
import time
from collections.abc import Iterator

from benchmarks.result import Result
from brownout.domain import Catalog, Endpoint, EndpointList, Fleet, Profile, Stored, Upstream
from xds_server.compiler import Compiler

REPEATS = 30
_SPEC = {"responses": [{"status": 200, "resolution": 100, "distribution": {"p50": "10ms", "p100": "20ms"}}]}


def run(*, slow: bool) -> Iterator[Result]:
    """Measure a changed route and a changed fault, alone and among others."""
    fleets, endpoints = (200, 5_000) if slow else (50, 1_000)
    alone = _milliseconds(1, 10)
    among_fleets = _milliseconds(fleets, 10)
    among_endpoints = _milliseconds(1, endpoints)
    for name, value in zip(("route", "fault"), alone, strict=True):
        yield Result(f"1 fleet of 10 endpoints, a changed {name}", value, "ms")
    for name, value in zip(("route", "fault"), among_fleets, strict=True):
        yield Result(f"{fleets} fleets of 10 endpoints, a changed {name}", value, "ms")
    for name, value in zip(("route", "fault"), among_endpoints, strict=True):
        yield Result(f"1 fleet of {endpoints:,} endpoints, a changed {name}", value, "ms")
    yield Result(f"{fleets} fleets to 1, a changed route", among_fleets[0] / alone[0], "ratio", 2)


def _milliseconds(fleets: int, endpoints: int) -> tuple[float, float]:
    """Median for a changed route, and for a changed fault."""
    compiler = Compiler()
    catalog = _catalog(fleets, endpoints)
    _compile(compiler, catalog)
    routes, faults = [], []
    for number in range(REPEATS):
        timeout = f"{number + 20}s"
        for times, percent in ((routes, 100), (faults, number + 1)):
            catalog = _changed(catalog, timeout=timeout, percent=percent)
            started = time.perf_counter()
            _compile(compiler, catalog)
            times.append((time.perf_counter() - started) * 1000)
    return statistics.median(routes), statistics.median(faults)


def _compile(compiler: Compiler, catalog: Catalog) -> None:
    compiler.compile(catalog, lambda _: [], lambda _: False)


def _endpoint(name: str, *, timeout: str = "15s", percent: int = 100) -> Endpoint:
    fault = {"profile": "slow", "percent": percent}
    match = {"prefix": f"/{name}/"}
    return Endpoint.load(
        {"name": name, "match": match, "upstream": "backend", "timeout": timeout, "fault": fault}
    )


def _catalog(fleets: int, endpoints: int) -> Catalog:
    listed = tuple(Stored(_endpoint(f"e{number}"), 1) for number in range(endpoints))
    backend = Upstream.load({"name": "backend", "hosts": [{"address": "127.0.0.1", "port": 9000}]})
    listener = {"name": "http", "address": "127.0.0.1", "port": 10000}
    names = [f"f{number}" for number in range(fleets)]
    return Catalog(
        revision=1,
        profiles={"slow": Stored(Profile.load({"name": "slow", "spec": _SPEC}), 1)},
        upstreams={"backend": Stored(backend, 1)},
        fleets={name: Stored(Fleet.load({"name": name, "listeners": [listener]}), 1) for name in names},
        lists=dict.fromkeys(names, EndpointList(listed, 1)),
    )


def _changed(catalog: Catalog, *, timeout: str, percent: int) -> Catalog:
    """The catalog with another first endpoint in its first fleet."""
    number = catalog.revision + 1
    _, *others = catalog.endpoints("f0")
    items = (Stored(_endpoint("e0", timeout=timeout, percent=percent), number), *others)
    return Catalog(
        revision=number,
        profiles=catalog.profiles,
        upstreams=catalog.upstreams,
        fleets=catalog.fleets,
        lists={**catalog.lists, "f0": EndpointList(items, number)},
    )
