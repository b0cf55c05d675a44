"""Several control planes on one PostgreSQL."""

import asyncio
from contextlib import ExitStack

from tests.e2e.stack import FLEET, configuration, constant, endpoint
from tests.support import (
    EnvoyProcess,
    ServerProcess,
    Upstream,
    exchange,
    free_port,
    wait_until,
    wait_until_async,
)
from tests.support.load import Flow
from tests.support.postgres import PostgresServer

# What Envoy counts when something is new or wrong.
CHANGES = (
    "(update_success|update_rejected|config_reload|version|(cluster|listener)_(added|modified|removed))$"
)


def connected(server: ServerProcess) -> int:
    nodes: int = server.http.get(f"fleets/{FLEET}/nodes").json()["nodes"]
    return nodes


def test_change_through_one_reaches_all(postgres: PostgresServer) -> None:
    """A change through one replica reaches the Envoys of the other, also after the first was killed."""
    port = free_port()
    database = postgres.new_database()
    with Upstream() as upstream, ExitStack() as stack:
        first = stack.enter_context(ServerProcess(database))
        second = stack.enter_context(ServerProcess(database))
        first.apply(
            configuration(
                port,
                upstream.port,
                profiles={"pay": constant((500, "1ms"))},
                endpoints=[endpoint("pay", "/pay", "pay")],
            )
        )

        def injects(status: int) -> bool:
            return exchange(("127.0.0.1", port), "GET", "/pay").status == status

        envoy: EnvoyProcess = stack.enter_context(second.envoy())
        second.wait_converged()
        assert (connected(first), connected(second)) == (0, 1)
        first.put("profiles/pay", {"spec": constant((501, "1ms"))})
        wait_until(lambda: injects(501), timeout=5, what="the change of the other replica")

        updates = envoy.stat("cluster_manager.cds.update_rejected")
        first.kill()
        second.put("profiles/pay", {"spec": constant((502, "1ms"))})
        wait_until(lambda: injects(502), timeout=5, what="the change after the death of a replica")
        assert envoy.stat("cluster_manager.cds.update_rejected") == updates


def test_envoy_moves_to_another_replica(postgres: PostgresServer) -> None:
    """When its replica dies an Envoy goes to another, keeps injecting, and is sent nothing that it has."""
    port = free_port()
    database = postgres.new_database()
    with Upstream() as upstream, ExitStack() as stack:
        replicas = [stack.enter_context(ServerProcess(database)) for _ in range(2)]
        profiles = {"pay": constant((500, "1ms"))}
        endpoints = [endpoint("pay", "/pay", "pay")]
        replicas[0].apply(configuration(port, upstream.port, profiles=profiles, endpoints=endpoints))
        envoy = stack.enter_context(replicas[0].envoy(replicas=replicas[1:]))
        wait_until(lambda: any(connected(each) for each in replicas))
        [mine] = [each for each in replicas if connected(each)]
        [other] = [each for each in replicas if each is not mine]
        mine.wait_converged()
        changes = envoy.stats("(update_success|config_reload|version|cluster_modified)$")

        mine.kill()
        wait_until(lambda: connected(other) == 1, timeout=20, what="the Envoy at the other replica")
        other.wait_converged()
        assert exchange(("127.0.0.1", port), "GET", "/pay").status == 500
        assert envoy.stats("(update_success|config_reload|version|cluster_modified)$") == changes
        other.put("profiles/pay", {"spec": constant((501, "1ms"))})
        other.wait_converged()
        assert exchange(("127.0.0.1", port), "GET", "/pay").status == 501


async def test_stopped_replica_hands_its_envoys_over(postgres: PostgresServer) -> None:
    """A replica that is stopped ends its streams: its Envoys go to another, and no request notices."""
    port = free_port()
    database = postgres.new_database()
    with Upstream() as upstream, ExitStack() as stack:
        replicas = [stack.enter_context(ServerProcess(database)) for _ in range(2)]
        profiles = {"pay": constant((500, "1ms"))}
        endpoints = [endpoint("pay", "/pay", "pay"), endpoint("rest", "/")]
        replicas[0].apply(configuration(port, upstream.port, profiles=profiles, endpoints=endpoints))
        envoy = stack.enter_context(replicas[0].envoy(replicas=replicas[1:]))
        wait_until(lambda: any(connected(each) for each in replicas))
        [mine] = [each for each in replicas if connected(each)]
        [other] = [each for each in replicas if each is not mine]
        mine.wait_converged()
        changes = envoy.stats(CHANGES)

        async with Flow(("127.0.0.1", port), "/pay") as injected, Flow(("127.0.0.1", port), "/") as plain:
            await asyncio.to_thread(mine.stop)
            await wait_until_async(lambda: connected(other) == 1, timeout=20, what="the Envoy at the other")
            await asyncio.to_thread(other.wait_converged)
        assert {answer.status for answer in injected.answers} == {500}
        assert {answer.status for answer in plain.answers} == {200}
        assert envoy.stats(CHANGES) == changes

        await asyncio.to_thread(other.put, "profiles/pay", {"spec": constant((501, "1ms"))})
        await asyncio.to_thread(other.wait_converged)
        assert exchange(("127.0.0.1", port), "GET", "/pay").status == 501
