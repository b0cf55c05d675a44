"""Responses that do not fit what Envoy may buffer for the client: many headers, trailers after a body.

Writing the headers, or what comes after them, takes the client's connection over its mark while the router
still refers to the upstream's stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.runtime.profiles import always, profile, response
from tests.support import (
    Behaviour,
    Http1Client,
    Http2Client,
    RawResponse,
    Upstream,
    filler_headers,
    request_bytes,
    route,
    static_bootstrap,
)

from .survivors import EMPTY_MESSAGE, FAULT_TEXT, FILLER, GRPC, HOLD, TRAILERS, Envoys, Outcome, promised

KIB = 1024
REWRITTEN = always(503, HOLD, override="upstream_response")
WINDOWS = {"smallest": 65_535, "large": 16 * KIB * KIB}
Address = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """What an upstream sends and what is drawn, at a listener that buffers `limit` KiB."""

    limit: int
    behaviour: Behaviour
    rule: dict[str, Any]
    outcome: Outcome
    alone: bool = True
    grpc: bool = False

    @property
    def name(self) -> str:
        """Its path."""
        what = self.rule.get("override", "")
        size = self.behaviour.size or len(self.behaviour.body)
        new = self.rule["responses"][0].get("local_response", {}).get("body", "")
        headers = sum(len(value) for _, value in self.behaviour.headers)
        status, drawn = self.behaviour.status, self.rule["responses"][0]["status"]
        trailers = "t" if self.behaviour.trailers else ""
        grpc = "g" if self.grpc else ""
        return f"{self.limit}-{grpc}{status}-{headers}-{size}{trailers}-{drawn}-{what}{len(new)}"


def headers_around_the_limit() -> Iterator[Case]:
    for kib in (31, 33, 50):
        many = filler_headers(kib * KIB)
        for behaviour, rule, outcome in (
            (Behaviour(), always(200, HOLD), Outcome()),
            (Behaviour(body=b""), always(200, HOLD), Outcome(body=b"")),
            (Behaviour(size=300_000), always(200, HOLD), Outcome(body=FILLER * 18_750)),
            (Behaviour(status=404), always(404, HOLD), Outcome(404)),
            (Behaviour(), REWRITTEN, Outcome(503, FAULT_TEXT)),
            (Behaviour(), always(503, HOLD), Outcome(503, FAULT_TEXT)),
        ):
            yield Case(32, behaviour.with_changes(headers=many), rule, outcome)


def trailers_around_the_limit() -> Iterator[Case]:
    for limit, headers, size in (
        (16, 0, 18_000),
        (16, 0, 16_000),
        (32, 6_000, 28_000),
        (32, 6_000, 26_000),
        (1, 0, 3_000),
        (16, 0, 400_000),
    ):
        behaviour = Behaviour(
            headers=filler_headers(headers) if headers else (), size=size, trailers=TRAILERS
        )
        body = (FILLER * (size // 16 + 1))[:size]
        yield Case(limit, behaviour, always(200, HOLD), Outcome(200, body, TRAILERS), alone=False)


def messages_around_the_limit() -> Iterator[Case]:
    for size in (100, 18_000, 200_000):
        framed = b"\0" + size.to_bytes(4, "big") + b"x" * size
        outcome = Outcome(200, framed, (("grpc-status", "0"),))
        yield Case(16, Behaviour.grpc(b"x" * size), always(200, HOLD), outcome, alone=False, grpc=True)


def new_bodies() -> Iterator[Case]:
    for limit in (1, 32):
        for size in (10, 40_000, 300_000):
            body = "q" * size
            rule = profile(response(503, HOLD, body=body), override="upstream_response")
            for behaviour in (
                Behaviour(),
                Behaviour(body=b""),
                Behaviour(size=100_000),
                Behaviour(size=100_000, trailers=TRAILERS),
            ):
                alone = not behaviour.trailers
                yield Case(limit, behaviour, rule, Outcome(503, body.encode()), alone=alone)


ALL = {
    case.name: case
    for cases in (
        headers_around_the_limit(),
        trailers_around_the_limit(),
        messages_around_the_limit(),
        new_bodies(),
    )
    for case in cases
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream({f"/{name}": case.behaviour for name, case in ALL.items()}) as server:
        yield server


def limited(upstream: Upstream, position: str, limit: int, *, http2: bool) -> dict[str, Any]:
    """A bootstrap whose listener buffers at most `limit` KiB of a response."""
    routes = [route(f"/{name}", case.rule) for name, case in ALL.items() if case.limit == limit]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=http2)
    config["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = limit * KIB
    return config


def ask(address: Address, case: Case, *, http2: bool, window: int) -> RawResponse:
    """One request on a connection of its own."""
    if not http2:
        with Http1Client(address) as one:
            one.send(request_bytes(path=f"/{case.name}"))
            return one.answer()
    with Http2Client(address, stream_window=window, connection_window=window) as two:
        if case.grpc:
            return two.answer(two.request("POST", f"/{case.name}", headers=GRPC, body=EMPTY_MESSAGE))
        return two.answer(two.request(path=f"/{case.name}"))


@pytest.mark.parametrize("name", ALL)
def test_what_does_not_fit(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, name: str
) -> None:
    """It comes whole, whichever part of it takes the connection over its mark."""
    case = ALL[name]
    outcome = replace(case.outcome, delay=promised(position, alone=case.alone))
    with envoys.on(limited(upstream, position, case.limit, http2=to_http2)) as envoy:
        if not case.grpc:
            outcome.check(ask(envoy.address(), case, http2=False, window=0))
        for window in WINDOWS.values():
            outcome.check(ask(envoy.address(), case, http2=True, window=window))
