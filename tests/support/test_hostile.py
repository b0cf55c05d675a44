"""The clients and upstreams that behave as no decent one would, each against the other."""

from collections.abc import Iterator

import grpc
import pytest

from tests.support import Behaviour, Http1Client, Http2Client, Upstream, filler_headers, request_bytes
from tests.support.rpc import PIECES, RpcServer, channel
from tests.support.tunnel import TunnelServer

BIG = 3_000_000
SHAPES = {
    "big": Behaviour(size=BIG),
    "chunked": Behaviour(size=1000, chunked=True),
    "trailers": Behaviour(size=1000, trailers=(("x-end", "1"),)),
    "headers": Behaviour(size=1000, headers=filler_headers(33_000)),
    "hints": Behaviour(size=1000, informational=103),
    "leaves": Behaviour(size=1000, leaves=True),
    "until-close": Behaviour(size=1000, until_close=True),
    "half-close": Behaviour(size=1000, half_close=True),
    "abandons": Behaviour(size=1000, early=True, abandons=True),
    "cut": Behaviour(size=1000, reset="half"),
}
RESET = {"abandons": 0, "cut": 2}


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with Upstream({f"/{name}": behaviour for name, behaviour in SHAPES.items()}) as upstream:
        yield "127.0.0.1", upstream.port


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("http2", [False, True])
def test_every_shape_is_read(address: tuple[str, int], shape: str, http2: bool) -> None:
    """What an upstream sends, the clients see; half of a request is enough for an early answer."""
    behaviour, path = SHAPES[shape], f"/{shape}"
    if http2:
        with Http2Client(address) as client2:
            answer = client2.answer(client2.request(path=path, end=not behaviour.early))
            assert client2.last_stream == (2**31 - 1 if behaviour.leaves else None)
            if shape in RESET:
                client2.read(lambda: answer.reset is not None)
            assert answer.reset == RESET.get(shape)
    else:
        with Http1Client(address) as client1:
            unfinished = [("content-length", "10")] if behaviour.early else []
            client1.send(request_bytes(path=path, headers=unfinished))
            answer = client1.answer()
    whole = shape != "cut"
    assert (answer.status, answer.complete) == (200, whole)
    assert len(answer.body) == (behaviour.size if whole else 500)
    assert answer.trailers == list(behaviour.trailers)
    assert answer.informational == ([103] if shape == "hints" else [])
    assert set(behaviour.headers) <= set(answer.headers)


def test_pipelining(address: tuple[str, int]) -> None:
    """Requests in one write are answered in order, whenever the answers are read."""
    with Http1Client(address, receive_buffer=4096) as client:
        client.send(request_bytes(path="/big") + request_bytes("HEAD", "/chunked") + request_bytes(path="/x"))
        assert len(client.answer().body) == BIG
        assert client.answer("HEAD").complete
        assert client.answer().body == b"ok\n"


def test_windows(address: tuple[str, int]) -> None:
    """Nothing comes beyond the room that was given, until more is given; a cancelled stream ends."""
    with Http2Client(address, stream_window=100_000, grants=False) as client:
        first, second = client.request(path="/big"), client.request(path="/big")
        for number in (first, second):
            client.read(lambda number=number: len(client.answers[number].body) == 100_000)  # type: ignore[misc]
        client.reset(second)
        third = client.request("POST", "/x", body=b"half", end=False)
        client.send(third, b"the rest", end=True)
        assert client.answer(third).body == b"ok\n"
        while not client.answers[first].complete:
            client.grant()
            client.read_once()
        assert len(client.answers[first].body) == BIG
        assert len(client.answers[second].body) == 100_000


@pytest.mark.parametrize("head", [b"CONNECT a:1 HTTP/1.1", b"GET / HTTP/1.1\r\nupgrade: websocket"])
def test_tunnels(head: bytes) -> None:
    """After the answer there are bytes and nothing else."""
    with TunnelServer() as server, Http1Client(("127.0.0.1", server.port)) as client:
        client.send(head + b"\r\nhost: a\r\n\r\n")
        assert client.answer(head.split()[0].decode()).status in {101, 200}
        client.send(b"ping")
        assert client.read(4) == b"ping"


def test_calls() -> None:
    """Each kind of call, and both kinds of refusal."""
    with RpcServer() as server, channel(("127.0.0.1", server.port)) as calls:
        assert calls.unary_unary("/a.B/Unary")(b"x" * BIG) == b"x" * BIG
        assert list(calls.unary_stream("/a.B/Download")(b"x")) == [b"x"] * PIECES
        assert calls.stream_unary("/a.B/Upload")(iter([b"x"] * 3)) == b"3"
        assert list(calls.stream_stream("/a.B/Chat")(iter([b"x", b"y"]))) == [b"x", b"y"]
        for call, code in (("Fail", grpc.StatusCode.ABORTED), ("Refuse", grpc.StatusCode.PERMISSION_DENIED)):
            kind = calls.unary_unary if call == "Fail" else calls.stream_unary
            with pytest.raises(grpc.RpcError) as failed:
                kind(f"/a.B/{call}")(b"" if call == "Fail" else iter([b""]))
            assert failed.value.code() is code
