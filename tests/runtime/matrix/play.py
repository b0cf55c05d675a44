"""Asks what a case says, in the way of its client."""

import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass

from tests.runtime.profiles import seconds
from tests.support import EnvoyProcess, Http1Client, Http2Client, RawResponse, Upstream, request_bytes

from .cases import HOLD, NARROW, Case
from .oracle import Got, judge

Address = tuple[str, int]
HALF = b"half"
_WIDE = 256 * 1024 * 1024
_SMALLEST = 65_535
_COPIES = 5
_GRPC = (("content-type", "application/grpc"), ("te", "trailers"))
_MESSAGE = b"\0\0\0\0\0"


@dataclass(frozen=True)
class Stage:
    """Where cases are played."""

    upstream: Upstream
    plain: Address
    secure: Address
    trust: ssl.SSLContext

    @classmethod
    def of(cls, upstream: Upstream, envoy: EnvoyProcess, trust: ssl.SSLContext) -> "Stage":
        """The stage that an Envoy is."""
        return cls(upstream, envoy.address(), envoy.address("https"), trust)


def play(case: Case, stage: Stage) -> None:
    """Ask, and judge what comes."""
    begun = time.monotonic()
    for answer in _answers(case, stage):
        judge(case, Got(answer, time.monotonic() - begun))


def _answers(case: Case, stage: Stage) -> Iterable[RawResponse]:
    if case.client == "h1":
        with Http1Client(stage.plain) as client:
            yield _alone(case, stage, client)
    elif case.client == "h1-pipelined":
        with Http1Client(stage.plain, receive_buffer=4096) as client:
            yield _pipelined(case, client)
    else:
        with _http2(case, stage) as connection:
            yield from _streams(case, stage, connection)


def _method(case: Case) -> str:
    if case.shape == "head":
        return "HEAD"
    return "POST" if case.is_early or case.client == "grpc" else "GET"


def _alone(case: Case, stage: Stage, client: Http1Client) -> RawResponse:
    method = _method(case)
    if not case.is_early:
        client.send(request_bytes(method, case.path))
        return client.answer(method)
    seen = stage.upstream.counts[case.path]
    client.send(request_bytes(method, case.path, headers=[("content-length", "8")], body=HALF))
    if case.shape == "early-ends":
        stage.upstream.wait_for(lambda server: server.counts[case.path] > seen)
        client.send(HALF)
    return client.answer(method)


def _pipelined(case: Case, client: Http1Client) -> RawResponse:
    method = _method(case)
    length = [("content-length", "8")] if case.is_early else []
    asked = request_bytes(method, case.path, headers=length, body=HALF if case.is_early else b"")
    client.send(request_bytes(path="/plain/large") + asked)
    time.sleep(2 * seconds(HOLD))  # it is slow
    size = case.group.shapes["large"].size
    assert len(client.answer().body) == size
    return client.answer(method)


def _http2(case: Case, stage: Stage) -> Http2Client:
    if case.client == "h2-tls":
        return Http2Client(stage.secure, tls=stage.trust)
    if case.client == "h2-narrow":
        return Http2Client(stage.plain, connection_window=_SMALLEST, stream_window=NARROW)
    if case.client == "h2-slow":
        return Http2Client(stage.plain, connection_window=_WIDE, stream_window=_WIDE, receive_buffer=4096)
    return Http2Client(stage.plain)


def _streams(case: Case, stage: Stage, client: Http2Client) -> Iterable[RawResponse]:
    download = client.request(path="/plain/large") if case.client == "h2-slow" else None
    copies = _COPIES if case.client == "h2-many" else 1
    seen = stage.upstream.counts[case.path]
    numbers = [_stream(case, client) for _ in range(copies)]
    if case.shape == "early-ends":
        stage.upstream.wait_for(lambda server: server.counts[case.path] > seen)
        for number in numbers:
            client.send(number, HALF, end=True)
    if download:
        time.sleep(2 * seconds(HOLD))  # it is slow
    for number in numbers:
        yield client.answer(number)
    if download:
        assert len(client.answer(download).body) == case.group.shapes["large"].size


def _stream(case: Case, client: Http2Client) -> int:
    method = _method(case)
    if case.client == "grpc":
        end = not case.is_early
        return client.request(method, case.path, headers=_GRPC, body=_MESSAGE, end=end)
    body = HALF if case.is_early else b""
    return client.request(method, case.path, body=body, end=not case.is_early)
