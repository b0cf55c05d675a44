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

LARGE = "q" * 50_000
REFUSALS: dict[str, dict[str, Any]] = {
    "local": always(503, HOLD),
    "upstream": always(503, HOLD, override="upstream_response"),
    "local-now": always(503),
    "upstream-now": always(503, override="upstream_response"),
    "local-body": profile(response(418, HOLD, body=LARGE)),
    "upstream-body": profile(response(418, HOLD, body=LARGE), override="upstream_response"),
}
RULES = REFUSALS | {"delay": always(200, HOLD)}
HEADS = {
    "connect": "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n",
    "upgrade": "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n",
}


def tunnelling(server: TunnelServer, position: str, *, ends: bool = False) -> dict[str, Any]:
    """A bootstrap that passes WebSocket upgrades on, and CONNECT too, or ends its tunnel at the cluster.

    The header `x-rule` of a request chooses its rule.
    """
    routes = []
    for name, rule in RULES.items():
        chosen = {"headers": [{"name": "x-rule", "string_match": {"exact": name}}]}
        connect = route("/", rule) | {"match": {"connect_matcher": {}} | chosen}
        if ends:
            connect["route"]["upgrade_configs"] = [{"upgrade_type": "CONNECT", "connect_config": {}}]
        routes += [connect, route("/", rule) | {"match": {"prefix": "/"} | chosen}]
    config = static_bootstrap(server.port, routes=routes, position=position)
    manager = manager_of(config)
    manager["upgrade_configs"] = [{"upgrade_type": "CONNECT"}, {"upgrade_type": "websocket"}]
    manager["http2_protocol_options"] = {"allow_connect": True}
    return config


def head(kind: str, rule: str, *more: str) -> bytes:
    """What an HTTP/1 client asks."""
    return "".join((HEADS[kind], f"x-rule: {rule}\r\n", *more, "\r\n")).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[TunnelServer]:
    with TunnelServer() as running:
        yield running


@pytest.fixture(params=REFUSALS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["passed-on", "ended"])
def ends(request: pytest.FixtureRequest) -> bool:
    """Whether Envoy itself is the end of the tunnel."""
    return bool(request.param)


def is_the_refusal(answer: RawResponse, name: str) -> None:
    status, body = (418, LARGE.encode()) if name.endswith("body") else (503, FAULT_TEXT)
    assert (answer.status, bytes(answer.body), answer.complete) == (status, body, True)


def test_a_refused_connect_over_http1(
    envoys: Envoys, server: TunnelServer, position: str, name: str, ends: bool
) -> None:
    """`CONNECT x:1` is answered whole."""
    with envoys.on(tunnelling(server, position, ends=ends)) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(head("connect", name))
                is_the_refusal(client.answer(), name)


def test_a_refused_connect_over_http2(
    envoys: Envoys, server: TunnelServer, position: str, name: str, ends: bool
) -> None:
    """The same on a stream, beside others."""
    with envoys.on(tunnelling(server, position, ends=ends)) as envoy, Http2Client(envoy.address()) as client:
        chosen = [("x-rule", name)]
        for number in [client.request("CONNECT", "x:1", headers=chosen, end=False) for _ in range(5)]:
            is_the_refusal(client.answer(number), name)


def test_a_refused_upgrade(envoys: Envoys, server: TunnelServer, position: str, name: str) -> None:
    """A WebSocket that is refused gets the response of an ordinary request."""
    with envoys.on(tunnelling(server, position)) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(head("upgrade", name))
                is_the_refusal(client.answer(), name)


@pytest.mark.parametrize("kind", HEADS)
def test_a_delayed_tunnel(envoys: Envoys, server: TunnelServer, position: str, kind: str) -> None:
    """It opens after its delay, where the place can delay it, and bytes flow."""
    method, status = ("CONNECT", 200) if kind == "connect" else ("GET", 101)
    with envoys.on(tunnelling(server, position)) as envoy:
        for _ in range(3):
            with Http1Client(envoy.address()) as client:
                client.send(head(kind, "delay"))
                answer = client.answer(method)
                assert answer.status == status
                if promised(position, alone=False):
                    assert taken(answer) >= seconds(HOLD) - 1e-6
                else:
                    assert "x-fault-added-delay" not in faults(answer)
                client.send(b"ping")
                assert client.read(4) == b"ping"
        if position == "upstream":
            assert cluster_counter(envoy, "skipped_upgrade") >= 3


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("rule", ["local", "upstream", "delay"])
def test_an_upstream_that_leaves_at_once(
    envoys: Envoys, server: TunnelServer, position: str, kind: str, rule: str
) -> None:
    """It accepts and closes, while what it said may be held."""
    with envoys.on(tunnelling(server, position)) as envoy:
        for _ in range(5):
            with Http1Client(envoy.address()) as client:
                client.send(head(kind, rule, "x-leaves: 1\r\n"))
                assert client.answer("CONNECT").status in {101, 200, 503}


@pytest.mark.parametrize("kind", HEADS)
def test_a_client_that_leaves_at_once(
    envoys: Envoys, server: TunnelServer, position: str, kind: str, ends: bool
) -> None:
    """It asks, sends what belongs into the tunnel, and resets the connection."""
    with envoys.on(tunnelling(server, position, ends=ends)) as envoy:
        for _ in range(20):
            client = Http1Client(envoy.address())
            client.send(head(kind, "delay") + b"early")
            client.abort()
        still_serves(envoy)


def still_serves(envoy: EnvoyProcess) -> None:
    with Http1Client(envoy.address()) as client:
        client.send(head("upgrade", "delay"))
        assert client.answer().status == 101
