"""`per_connection_buffer_limit_bytes: 0`: Envoy may buffer what it likes, not nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.discovery import discovered_filter, write_filter
from tests.runtime.profiles import always, profile, response
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Upstream,
    exchange,
    manager_of,
    route,
    static_bootstrap,
)

from .survivors import FAULT_TEXT, FILLER, HOLD, TRAILERS, Envoys, Outcome, promised, surviving, wait_held

SIZE = 2_000_000
LARGE = "q" * 300_000
REWRITTEN = profile(response(503, HOLD, body=LARGE), override="upstream_response")
CASES = {
    "plain": (Behaviour(size=SIZE), always(200, HOLD), Outcome(body=FILLER * (SIZE // 16)), True),
    "trailers": (
        Behaviour(size=SIZE, trailers=TRAILERS),
        always(200, HOLD),
        Outcome(200, FILLER * (SIZE // 16), TRAILERS),
        False,
    ),
    "few-trailers": (Behaviour(trailers=TRAILERS), always(200, HOLD), Outcome(trailers=TRAILERS), False),
    "forced": (Behaviour(size=SIZE), always(503, HOLD), Outcome(503, FAULT_TEXT), True),
    "rewritten": (Behaviour(size=SIZE), REWRITTEN, Outcome(503, LARGE.encode()), True),
    "rewritten-trailers": (
        Behaviour(size=SIZE, trailers=TRAILERS),
        REWRITTEN,
        Outcome(503, LARGE.encode()),
        False,
    ),
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream({f"/{name}": behaviour for name, (behaviour, *_) in CASES.items()}) as server:
        yield server


def unlimited(
    upstream: Upstream, position: str, routes: list[dict[str, Any]], *, http2: bool
) -> dict[str, Any]:
    """A bootstrap without limits."""
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=http2)
    for kind in ("listeners", "clusters"):
        config["static_resources"][kind][0]["per_connection_buffer_limit_bytes"] = 0
    return config


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_cut_short(
    envoys: Envoys, upstream: Upstream, position: str, to_http2: bool, name: str
) -> None:
    """What is held is held for its time, and comes whole."""
    routes = [route(f"/{case}", rule) for case, (_, rule, *_) in CASES.items()]
    *_, outcome, alone = CASES[name]
    with envoys.on(unlimited(upstream, position, routes, http2=to_http2)) as envoy:
        for http2 in (False, True):
            answer = exchange(envoy.address(), path=f"/{name}", http2=http2)
            replace(outcome, delay=promised(position, alone=alone)).check(answer)


@pytest.mark.parametrize("name", ["plain", "trailers", "few-trailers", "forced", "rewritten"])
def test_a_halt_releases(
    upstream: Upstream, version: str, position: str, to_http2: bool, *, tmp_path: Path, name: str
) -> None:
    """What is held goes on as the upstream sent it."""
    behaviour, rule, _, alone = CASES[name]
    if not promised(position, alone=alone):
        pytest.skip("let go at once in this place")
    minute = rule | {"responses": [response(rule["responses"][0]["status"], "60s")]}
    file = tmp_path / "filter.json"
    write_filter(file, {"halted": False}, "1")
    config = unlimited(upstream, position, [route("/", minute)], http2=to_http2)
    if position != "downstream":
        (made,) = config["static_resources"]["clusters"]
        options = made["typed_extension_protocol_options"]
        options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]["http_filters"][0] = (
            discovered_filter(file)
        )
    else:
        manager_of(config)["http_filters"][0] = discovered_filter(file)
    with (
        EnvoyProcess(config, version=version) as process,
        surviving(process) as envoy,
        ThreadPoolExecutor() as pool,
    ):
        address = envoy.address()
        asked = [pool.submit(exchange, address, path=f"/{name}", http2=http2) for http2 in (False, True)]
        wait_held(envoy, 2)
        write_filter(file, {"halted": True}, "2")
        body = FILLER * (SIZE // 16) if behaviour.size else behaviour.body
        for answer in asked:
            Outcome(200, body, behaviour.trailers, None).check(answer.result())
