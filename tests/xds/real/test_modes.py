"""Modes `routes` and `filter`, targeting and halts, on real Envoys."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from brownout.domain import Fleet
from brownout_cli.addresses import Address
from brownout_cli.bootstrap import Example
from tests.support import OLDER, REFERENCE, Behaviour, Upstream, free_port
from tests.xds.client import eventually
from tests.xds.real.conftest import Stage
from tests.xds.real.load import get
from tests.xds.world import endpoint, gateway, profile, upstream
from xds_server import XdsServer

SLOW = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "50ms", "p100": "50ms"}}]}
LONG = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "30s", "p100": "30s"}}]}
FAULT = {"profile": "slow"}


def _fleet(mode: str) -> Fleet:
    return Fleet.load({"name": "edge", "mode": mode})


async def test_routes(stage: Stage, one: Upstream) -> None:
    """Mode `routes`: an Envoy with a listener of its own gets routes and clusters, and faults with them."""
    example = Example(Address("127.0.0.1", stage.listen), Address("127.0.0.1", one.port))
    await stage.world.commit(
        _fleet("routes"), upstream("u", port=one.port), profile(spec=SLOW), endpoint("slow", "u", fault=FAULT)
    )
    async with stage.envoy(mode="routes", example=example):
        await stage.converged()
        slow = await get(f"http://127.0.0.1:{stage.listen}/slow")
        assert slow.headers["x-fault-injected-delay"] == "50ms"
        await stage.world.commit(endpoint("plain", "u"))
        await stage.converged()
        assert (await get(f"http://127.0.0.1:{stage.listen}/plain")).text == "one"
        (node,) = stage.server.status.nodes()
        assert node.acknowledged.keys() == {"cds", "eds", "rds", "ecds"}


async def test_filter(stage: Stage, one: Upstream) -> None:
    """Mode `filter`: an Envoy with a configuration of its own gets `endpoints[]`.

    The first that matches wins.
    """
    example = Example(Address("127.0.0.1", stage.listen), Address("127.0.0.1", one.port))
    world = stage.world
    await world.commit(
        _fleet("filter"),
        profile(spec=SLOW),
        endpoint("health", match={"prefix": "/slow/health"}, upstream=...),
        endpoint("slow", match={"prefix": "/slow", "methods": ["GET", "PUT"]}, upstream=..., fault=FAULT),
        endpoint("host", match={"hosts": ["a.test", "b.test"]}, upstream=..., fault=FAULT),
    )
    base = f"http://127.0.0.1:{stage.listen}"
    async with stage.envoy(mode="filter", example=example):
        await stage.converged()
        slow = await get(f"{base}/slow")
        assert (slow.text, slow.headers["x-fault-injected-delay"]) == ("one", "50ms")
        assert "x-fault-status" not in (await get(f"{base}/slow/health")).headers
        assert "x-fault-status" not in (await get(f"{base}/other")).headers
        assert "x-fault-status" in (await get(f"{base}/other", host="b.test")).headers
        await world.commit(halts=["edge"])
        await stage.converged()
        assert "x-fault-status" not in (await get(f"{base}/slow")).headers
        await world.commit(halts=[])
        await stage.converged()
        assert "x-fault-status" in (await get(f"{base}/slow")).headers
        await world.commit(remove=[("endpoint", "slow")])
        await stage.converged()
        assert "x-fault-status" not in (await get(f"{base}/slow")).headers
        (node,) = stage.server.status.nodes()
        assert node.acknowledged.keys() == {"ecds"}


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
async def test_filter_without_control_plane(stage: Stage, one: Upstream, version: str) -> None:
    """Mode `filter`: an Envoy that starts while the control plane is absent serves, and is served later.

    Its listeners and its clusters ask each by a stream of their own, both are served, and it is one node.
    """
    example = Example(Address("127.0.0.1", stage.listen), Address("127.0.0.1", one.port))
    await stage.server.stop(0.1)
    async with stage.envoy(mode="filter", example=example, process={"version": version}) as envoy:
        answer = await get(f"http://127.0.0.1:{stage.listen}/slow")
        assert (answer.status_code, answer.text) == (200, "one")
        stage.world.change(_fleet("filter"), profile(spec=SLOW), endpoint("slow", upstream=..., fault=FAULT))
        stage.server = XdsServer()
        await stage.server.start("127.0.0.1", stage.xds.port)
        stage.server.publish(stage.world.catalog)
        await eventually(lambda: len(stage.server.status.sessions("edge")) == 2, 20)
        await stage.converged()
        assert stage.server.status.converged("edge").nodes == 1
        assert "x-fault-status" in (await get(f"http://127.0.0.1:{stage.listen}/slow")).headers
        for place in ("http_filter", "upstream_http_filter"):
            name = f"extension_config_discovery.{place}.brownout.update_success"
            assert await asyncio.to_thread(envoy.stat, name) == 1


async def test_targeting(stage: Stage, one: Upstream) -> None:
    """A fault for some nodes is injected by those only.

    Nodes that are selected alike share their snapshots.
    """
    world = stage.world
    await world.commit(
        gateway(port=stage.listen),
        upstream("u", port=one.port),
        profile(spec=SLOW),
        endpoint("zone", "u", fault=FAULT | {"nodes": {"locality": {"zone": "z1"}}}),
        endpoint("meta", "u", fault=FAULT | {"nodes": {"metadata": {"canary": "yes"}}}),
        endpoint("ids", "u", fault=FAULT | {"nodes": {"ids": ["n2"]}}),
    )
    async with stage.envoy("n1", locality=("eu", "z1"), metadata={"canary": "yes"}):
        await stage.converged()
        assert await _injecting(stage) == {"zone", "meta"}
    async with stage.envoy("n2", locality=("eu", "z2")):
        await stage.converged()
        assert await _injecting(stage) == {"ids"}
        await world.commit(endpoint("zone", "u", fault=FAULT | {"nodes": {"locality": {"region": "eu"}}}))
        await stage.converged()
        assert await _injecting(stage) == {"ids", "zone"}


async def _injecting(stage: Stage) -> set[str]:
    answers = {path: await get(f"http://127.0.0.1:{stage.listen}/{path}") for path in ("zone", "meta", "ids")}
    return {path for path, answer in answers.items() if "x-fault-status" in answer.headers}


async def test_halt_releases_held_requests(stage: Stage) -> None:
    """A halt lets go of requests that are being held, on every Envoy of the fleet.

    And is confirmed by each.
    """
    world = stage.world
    with Upstream(default=Behaviour(body=b"held")) as backend:
        await world.commit(
            _fleet("routes"),
            upstream("u", port=backend.port),
            profile(spec=LONG),
            endpoint("all", "u", match={}, timeout="60s", fault=FAULT),
        )
        async with AsyncExitStack() as stack:
            ports = []
            for index in range(3):
                port = free_port()
                ports.append(port)
                example = Example(Address("127.0.0.1", port), Address("127.0.0.1", backend.port))
                await stack.enter_async_context(stage.envoy(f"n{index}", mode="routes", example=example))
            await stage.converged(3)
            held = [asyncio.create_task(get(f"http://127.0.0.1:{port}/")) for port in ports]
            await eventually(lambda: backend.counts["/"] == 3)
            loop = asyncio.get_running_loop()
            before = loop.time()
            await world.commit(halts=["*"])
            await stage.converged(3)
            answers = await asyncio.gather(*held)
            assert loop.time() - before < 5
            assert {answer.text for answer in answers} == {"held"}
