"""A gateway fleet on real Envoys, in both variants."""

import asyncio

import pytest

from brownout.domain import Fleet
from tests.support import OLDER, REFERENCE, EnvoyProcess, Upstream, async_client, free_port
from tests.xds.client import eventually
from tests.xds.real.conftest import Stage
from tests.xds.real.load import get, load
from tests.xds.world import endpoint, gateway, profile, upstream

SLOW = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "50ms", "p100": "50ms"}}]}


async def counters(envoy: EnvoyProcess, *, of: str = "update_success") -> dict[str, int]:
    """Envoy's counters of discovery updates."""
    found = await asyncio.to_thread(envoy.stats, f"{of}$")
    return {name: int(value) for name, value in found.items() if "xds" not in name}


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
async def test_gateway(stage: Stage, one: Upstream, version: str) -> None:
    """Everything that we build is accepted, and does what it says; what matches nothing is Envoy's 404."""
    await stage.world.commit(
        gateway(port=stage.listen),
        upstream("one", port=one.port),
        profile(spec=SLOW),
        endpoint("slow", "one", fault={"profile": "slow"}, retry={"retry_on": "5xx", "attempts": 2}),
        endpoint("echo", "one", timeout="3s"),
        endpoint("post", "one", match={"exact": "/post", "methods": ["POST", "PUT"]}),
        endpoint("head", "one", match={"exact": "/head", "headers": [{"name": "x-a", "exact_match": "1"}]}),
    )
    async with stage.envoy(process={"version": version}) as envoy:
        await stage.converged()
        base = f"http://127.0.0.1:{stage.listen}"
        slow = await get(f"{base}/slow/x")
        assert (slow.status_code, slow.text, slow.headers["x-fault-injected-delay"]) == (200, "one", "50ms")
        number = stage.world.catalog.profiles["slow"].revision
        assert slow.headers["x-fault-profile"] == f"slow@{number}"
        plain = await get(f"{base}/echo")
        assert plain.status_code == 200
        assert not [name for name in plain.headers if name.startswith("x-fault")]
        async with async_client() as http:
            statuses = [
                (await http.post(f"{base}/post")).status_code,
                (await http.get(f"{base}/post")).status_code,
                (await http.get(f"{base}/head?q", headers={"x-a": "1"})).status_code,
                (await http.get(f"{base}/head", headers={"x-a": "2"})).status_code,
                (await http.get(f"{base}/nothing")).status_code,
            ]
        assert statuses == [200, 404, 200, 404, 404]
        assert sum((await counters(envoy, of="update_rejected")).values()) == 0


async def test_first_match_wins_across_hosts(stage: Stage, one: Upstream, two: Upstream) -> None:
    """The first endpoint in the list wins, whatever Envoy's own order of virtual hosts.

    Ports do not matter.
    """
    await stage.world.commit(
        gateway(port=stage.listen),
        upstream("one", port=one.port),
        upstream("two", port=two.port),
        endpoint("a", "one", match={"hosts": ["*.example.com"], "prefix": "/a"}),
        endpoint("port", "one", match={"hosts": ["api.example.com:8080"], "prefix": "/p"}),
        endpoint("b", "two", match={"hosts": ["api.example.com", "shop.example.com"]}),
        endpoint("any", "two", match={"prefix": "/z"}),
        endpoint("last", "one", match={"hosts": ["other.test", "[::1]"]}),
    )
    expected = {
        ("api.example.com", "/a"): "one",
        ("api.example.com", "/x"): "two",
        ("api.example.com:10000", "/a"): "one",
        ("API.example.com", "/x"): "two",
        ("deep.api.example.com", "/a"): "one",
        ("deep.api.example.com", "/z"): "two",
        ("api.example.com:8080", "/p"): "one",
        ("api.example.com:8081", "/p"): "two",
        ("other.test", "/z"): "two",
        ("other.test:1", "/x"): "one",
        ("[::1]:1", "/x"): "one",
        ("unknown.test", "/x"): "",
    }
    async with stage.envoy():
        await stage.converged()
        found = {}
        for host, path in expected:
            answer = await get(f"http://127.0.0.1:{stage.listen}{path}", host=host)
            found[host, path] = answer.text
        assert found == expected


async def test_cluster_added_and_route_moved(stage: Stage, one: Upstream, two: Upstream) -> None:
    """A cluster added and the route moved to it in one commit, and back, under load: no request fails."""
    world = stage.world
    await world.commit(
        gateway(port=stage.listen), upstream("one", port=one.port), endpoint("all", "one", match={})
    )
    async with stage.envoy() as envoy:
        await stage.converged()
        async with load(f"http://127.0.0.1:{stage.listen}/") as seen:
            for index in range(10):
                name = f"u{index}"
                await world.commit(
                    upstream(name, port=(one, two)[index % 2].port), endpoint("all", name, match={})
                )
                await stage.converged()
            await asyncio.sleep(0.1)
        assert seen.keys() == {"200 one", "200 two"}, seen
        assert await asyncio.to_thread(envoy.stat, "cluster_manager.active_clusters") == 2


async def test_hosts_and_cluster_changed(stage: Stage, one: Upstream, two: Upstream) -> None:
    """Hosts move, and a cluster's own fields change, under load: warming is quick, no request fails."""
    world = stage.world
    await world.commit(
        gateway(port=stage.listen), upstream("u", port=one.port), endpoint("all", "u", match={})
    )
    async with stage.envoy() as envoy:
        await stage.converged()
        async with load(f"http://127.0.0.1:{stage.listen}/") as seen:
            for index in range(10):
                port = (two, one)[index % 2].port
                await world.commit(upstream("u", port=port, connect_timeout=f"{index // 2 + 2}s"))
                await stage.converged()
                await asyncio.to_thread(envoy.wait_stat, "cluster_manager.cluster_modified", index // 2 + 1)
                assert await asyncio.to_thread(envoy.stat, "cluster_manager.warming_clusters") == 0
            await asyncio.sleep(0.1)
        assert seen.keys() == {"200 one", "200 two"}, seen


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
async def test_faults_touch_no_cluster(stage: Stage, one: Upstream, version: str) -> None:
    """Adding, changing and removing a fault, a halt and its end: no cluster and no listener is touched.

    The filter of the listener and that of the cluster each take the halt.
    """
    world = stage.world
    await world.commit(
        gateway(port=stage.listen), upstream("u", port=one.port), endpoint("all", "u", match={})
    )
    url = f"http://127.0.0.1:{stage.listen}/"
    async with stage.envoy(process={"version": version}) as envoy:
        await stage.converged()
        before = await counters(envoy)
        await world.commit(profile(spec=SLOW), endpoint("all", "u", match={}, fault={"profile": "slow"}))
        await stage.converged()
        assert "x-fault-status" in (await get(url)).headers
        await world.commit(halts=["edge"])
        await stage.converged()
        assert "x-fault-status" not in (await get(url)).headers
        await world.commit(halts=[])
        await stage.converged()
        assert "x-fault-status" in (await get(url)).headers
        await world.commit(endpoint("all", "u", match={}))
        await stage.converged()
        assert "x-fault-status" not in (await get(url)).headers
        after = await counters(envoy)
        assert {name: after[name] - count for name, count in before.items() if after[name] != count} == {
            "http.http.rds.brownout.update_success": 2,
            "extension_config_discovery.http_filter.brownout.update_success": 2,
            "extension_config_discovery.upstream_http_filter.brownout.update_success": 2,
        }
        assert sum((await counters(envoy, of="update_rejected")).values()) == 0
        assert sum((await counters(envoy, of="_modified")).values()) == 0


async def test_a_cluster_that_comes_during_a_halt(stage: Stage, one: Upstream) -> None:
    """A cluster or a listener that is added or changed while the fleet is halted does not end the halt."""
    world = stage.world
    fault = {"profile": "slow"}
    await world.commit(
        gateway(port=stage.listen),
        upstream("u", port=one.port),
        profile(spec=SLOW),
        endpoint("u", fault=fault),
    )
    async with stage.envoy():
        await stage.converged()
        await world.commit(halts=["edge"])
        await stage.converged()
        listeners = gateway(port=stage.listen).document()["listeners"]
        other = {"name": "other", "address": "127.0.0.1", "port": free_port()}
        await world.commit(
            Fleet.load({"name": "edge", "listeners": [*listeners, other]}),
            upstream("v", port=one.port),
            upstream("u", port=one.port, connect_timeout="9s"),
            endpoint("v", fault=fault),
        )
        await stage.converged()
        urls = [f"http://127.0.0.1:{port}/{path}" for port in (stage.listen, other["port"]) for path in "uv"]
        for url in urls:
            assert "x-fault-status" not in (await get(url)).headers
        await world.commit(halts=[])
        await stage.converged()
        for url in urls:
            assert "x-fault-status" in (await get(url)).headers


async def test_server_restarted(stage: Stage, one: Upstream) -> None:
    """The server restarts: the Envoy reconnects and is pushed nothing that is new to it."""
    world = stage.world
    await world.commit(
        gateway(port=stage.listen),
        upstream("u", port=one.port),
        profile(spec=SLOW),
        endpoint("u", fault={"profile": "slow"}),
    )
    async with stage.envoy() as envoy:
        await stage.converged()
        before = await counters(envoy)
        await stage.restart()
        await eventually(lambda: stage.server.status.converged("edge").nodes == 1, 20)
        await stage.converged()
        await asyncio.sleep(0.5)
        after = await counters(envoy)
        assert sum((await counters(envoy, of="update_rejected")).values()) == 0
        changed = {name: after[name] - count for name, count in before.items() if after[name] != count}
        if stage.protocol == "delta":
            assert changed == {}
        else:
            # The same content at the same version once more: accepted, and nothing is modified by it.
            assert set(changed.values()) <= {1}
        found = await asyncio.to_thread(
            envoy.stats, "^(cluster_manager.cluster_modified|listener_manager.listener_modified)$"
        )
        assert set(found.values()) <= {0}
        await world.commit(endpoint("u", timeout="3s", fault={"profile": "slow"}))
        await stage.converged()


async def test_rejected_listener(stage: Stage, one: Upstream) -> None:
    """A listener that the Envoy cannot have is a NACK with the Envoy's text; a fix clears it."""
    world = stage.world
    await world.commit(gateway(port=stage.listen), upstream("u", port=one.port), endpoint("u"))
    async with stage.envoy():
        await stage.converged()
        broken = gateway(port=stage.listen)
        tls = {"certificate": "/does/not/exist.pem", "private_key": "/does/not/exist.key"}
        document = broken.document()
        document["listeners"][0]["tls"] = tls
        await world.commit(type(broken).load(document))
        await eventually(lambda: stage.server.status.converged("edge").rejecting == 1)
        (node,) = stage.server.status.nodes()
        assert "/does/not/exist" in node.rejected["lds"].text
        assert (await get(f"http://127.0.0.1:{stage.listen}/u")).status_code == 200
        await world.commit(gateway(port=stage.listen))
        await stage.converged()


async def _roll(stage: Stage, one: Upstream, edits: int) -> None:
    world = stage.world
    await world.commit(
        gateway(port=stage.listen),
        upstream("u", port=one.port),
        profile(),
        endpoint("u", match={}, fault={"profile": "slow"}),
    )
    async with stage.envoy() as envoy:
        await stage.converged()
        async with load(f"http://127.0.0.1:{stage.listen}/") as seen:
            loop = asyncio.get_running_loop()
            start = loop.time()
            for index in range(edits):
                label = {"p50": "1ms", "p100": f"{2 + index % 7}ms"}
                spec = {"responses": [{"status": 200, "resolution": 10, "distribution": label}]}
                world.change(profile(spec=spec))
                await asyncio.sleep(max(0.0, start + (index + 1) / 20 - loop.time()))
            await stage.converged()
        assert seen.keys() == {"200 one"}, seen
        rejected = sum((await counters(envoy, of="update_rejected")).values())
        assert rejected == 0
        last = await get(f"http://127.0.0.1:{stage.listen}/")
        assert last.headers["x-fault-profile"] == f"slow@{world.catalog.profiles['slow'].revision}"


async def test_rolling_edits(stage: Stage, one: Upstream) -> None:
    """Edits at 20 a second for five seconds under load: no request fails, the last edit is what counts."""
    await _roll(stage, one, 100)


@pytest.mark.slow
async def test_rolling_edits_for_a_minute(stage: Stage, one: Upstream) -> None:
    """The same for a minute."""
    await _roll(stage, one, 1200)
