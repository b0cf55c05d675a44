"""A client of a gateway that has many requests under way on one HTTP/2 connection, and reads late."""

import asyncio
import socket

import h2.config
import h2.connection
import h2.events
import h2.settings

from tests.support import Behaviour, Upstream
from tests.xds.real.conftest import Stage
from tests.xds.world import endpoint, gateway, profile, upstream

SLOW = {"responses": [{"status": 200, "resolution": 10, "distribution": {"p0": "50ms", "p100": "90ms"}}]}
STREAMS, SIZE = 90, 60_000
WINDOW = 50_000_000


def ask_and_read_late(port: int, held: Upstream) -> dict[int, int]:
    """Ask for all, read nothing until every response's time has passed; returns bytes by stream."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
    client.initiate_connection()
    client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**24})
    client.increment_flow_control_window(WINDOW)
    pseudo = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/slow/large")]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20)
        connection.sendall(client.data_to_send())
        client.receive_data(connection.recv(65_536))
        for number in range(STREAMS):
            client.send_headers(2 * number + 1, pseudo, end_stream=True)
        connection.sendall(client.data_to_send())
        held.wait_for(lambda server: server.counts["/slow/large"] == STREAMS)
        # Its buffers and the kernel's are far from enough for all.
        got: dict[int, int] = dict.fromkeys(range(1, 2 * STREAMS, 2), 0)
        ended: set[int] = set()
        while len(ended) < STREAMS and (data := connection.recv(16_384)):
            for event in client.receive_data(data):
                if isinstance(event, h2.events.DataReceived):
                    got[event.stream_id] += len(event.data)
                    client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                    ended.add(event.stream_id)
            connection.sendall(client.data_to_send())
    return got


async def test_a_shared_connection_that_is_backed_up(stage: Stage, one: Upstream) -> None:
    """Every response arrives whole, through a listener with Envoy's usual buffers."""
    one["/slow/large"] = Behaviour(size=SIZE)
    await stage.world.commit(
        gateway(port=stage.listen),
        upstream("one", port=one.port),
        profile(spec=SLOW),
        endpoint("slow", "one", fault={"profile": "slow"}),
    )
    async with stage.envoy():
        await stage.converged()
        got = await asyncio.to_thread(ask_and_read_late, stage.listen, one)
        assert set(got.values()) == {SIZE}
