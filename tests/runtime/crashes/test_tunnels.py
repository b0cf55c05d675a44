"""CONNECT and upgrades: a refusal is a whole response in every place, what is allowed is a tunnel."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runtime.profiles import always, faults, profile, response, seconds
from tests.support import (
    EnvoyProcess,
    Http1Client,
    Http2Client,
    RawResponse,
    manager_of,
    route,
    static_bootstrap,
)
from tests.support.tunnel import TunnelServer

from .survivors import FAULT_TEXT, HOLD, Envoys, cluster_counter, promised, taken

UPGRADE = [("connection", "upgrade"), ("upgrade", "websocket")]
LARGE = "q" * 50_000
RULES: dict[str, dict[str, Any]] = {
    "local": always(503, HOLD),
    "upstream": always(503, HOLD, override="upstream_response"),
    "local-now": always(503),
    "upstream-now": always(503, override="upstream_response"),
    "local-body": profile(response(418, HOLD, body=LARGE)),
    "upstream-body": profile(response(418, HOLD, body=LARGE), override="upstream_response"),
}
EXPECTED = {"body": (418, LARGE.encode())}


def tunnelling(port: int, position: str, rule: dict[str, Any], *, ends: bool = False) -> dict[str, Any]:
    """A bootstrap that passes WebSocket upgrades on, and CONNECT too, or ends its tunnel at the cluster."""
    connect = route("/", rule) | {"match": {"connect_matcher": {}}}
    if ends:
        connect["route"]["upgrade_configs"] = [{"upgrade_type": "CONNECT", "connect_config": {}}]
    config = static_bootstrap(port, routes=[connect, route("/", rule)], position=position)
    manager = manager_of(config)
    manager["upgrade_configs"] = [{"upgrade_type": "CONNECT"}, {"upgrade_type": "websocket"}]
    manager["http2_protocol_options"] = {"allow_connect": True}
    return config


@pytest.fixture(scope="module")
def server() -> Iterator[TunnelServer]:
    with TunnelServer() as running:
        yield running


@pytest.fixture(params=RULES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def is_the_refusal(answer: RawResponse, name: str) -> None:
    status, body = EXPECTED.get(name.partition("-")[2], (503, FAULT_TEXT))
    assert (answer.status, bytes(answer.body), answer.complete) == (status, body, True)


@pytest.mark.parametrize("ends", [False, True], ids=["passed-on", "ended"])
def test_a_refused_connect_over_http1(
    envoys: Envoys, server: TunnelServer, position: str, name: str, *, ends: bool
) -> None:
    """`CONNECT x:1` is answered whole, and the connection or the next request is fine."""
    with envoys.on(tunnelling(server.port, position, RULES[name], ends=ends)) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(b"CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n")
                is_the_refusal(client.answer(), name)


@pytest.mark.parametrize("ends", [False, True], ids=["passed-on", "ended"])
def test_a_refused_connect_over_http2(
    envoys: Envoys, server: TunnelServer, position: str, name: str, *, ends: bool
) -> None:
    """The same on a stream, beside others."""
    with (
        envoys.on(tunnelling(server.port, position, RULES[name], ends=ends)) as envoy,
        Http2Client(envoy.address()) as client,
    ):
        for number in [client.request("CONNECT", "x:1", end=False) for _ in range(5)]:
            is_the_refusal(client.answer(number), name)


def test_a_refused_upgrade(envoys: Envoys, server: TunnelServer, position: str, name: str) -> None:
    """A WebSocket that is refused gets the response of an ordinary request."""
    with envoys.on(tunnelling(server.port, position, RULES[name])) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
                is_the_refusal(client.answer(), name)


HEADS = {
    "connect": b"CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n",
    "upgrade": b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
}


@pytest.mark.parametrize("kind", HEADS)
def test_a_delayed_tunnel(envoys: Envoys, server: TunnelServer, position: str, kind: str) -> None:
    """It opens after its delay, where the place can delay it, and bytes flow; both sides may leave."""
    method, status = ("CONNECT", 200) if kind == "connect" else ("GET", 101)
    with envoys.on(tunnelling(server.port, position, always(200, HOLD))) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(HEADS[kind])
                answer = client.answer(method)
                assert answer.status == status
                if promised(position, alone=False):
                    assert taken(answer) >= seconds(HOLD) - 1e-6
                else:
                    assert "x-fault-added-delay" not in faults(answer)
                    assert cluster_counter(envoy, "skipped_upgrade") > 0
                client.send(b"ping")
                assert client.read(4) == b"ping"


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("name", ["local", "upstream", "delay"])
def test_an_upstream_that_leaves_at_once(
    envoys: Envoys, server: TunnelServer, position: str, *, kind: str, name: str
) -> None:
    """It accepts and closes, while what it said may be held."""
    rule = RULES.get(name, always(200, HOLD))
    head = HEADS[kind].replace(b"\r\n\r\n", b"\r\nx-leaves: 1\r\n\r\n")
    with envoys.on(tunnelling(server.port, position, rule)) as envoy:
        for _ in range(5):
            with Http1Client(envoy.address()) as client:
                client.send(head)
                while client.read_once():
                    pass


@pytest.mark.parametrize("kind", HEADS)
def test_a_client_that_leaves_at_once(envoys: Envoys, server: TunnelServer, position: str, kind: str) -> None:
    """It asks, sends what belongs into the tunnel, and resets the connection."""
    with envoys.on(tunnelling(server.port, position, always(200, HOLD))) as envoy:
        for _ in range(20):
            client = Http1Client(envoy.address())
            client.send(HEADS[kind] + b"early")
            client.abort()
        alive(envoy)


def alive(envoy: EnvoyProcess) -> None:
    """A request is answered, whatever it gets."""
    with Http1Client(envoy.address()) as client:
        client.send(HEADS["upgrade"])
        assert client.answer().status == 101
