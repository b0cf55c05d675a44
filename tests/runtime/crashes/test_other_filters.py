"""A forced status is a response like any other to the filters around ours, and to the access log."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from tests.runtime.profiles import always, profile, response
from tests.support import (
    Behaviour,
    EnvoyProcess,
    Http2Client,
    RawResponse,
    Upstream,
    exchange,
    manager_of,
    route,
    static_bootstrap,
)
from tests.support.bootstrap import TYPE

from .survivors import EMPTY_MESSAGE, FAULT_TEXT, GRPC, HOLD, Envoys

HTTP = "envoy.extensions.filters.http"
LARGE = "fault " * 1000
RULES: dict[str, dict[str, Any]] = {
    "local": profile(response(503, HOLD, body=LARGE)),
    "local-now": profile(response(503, body=LARGE)),
    "upstream": profile(response(503, HOLD, body=LARGE), override="upstream_response"),
    "upstream-now": profile(response(503, body=LARGE), override="upstream_response"),
}
CORS = {
    "name": "envoy.filters.http.cors",
    "typed_config": {"@type": f"{TYPE}{HTTP}.cors.v3.Cors"},
}
CORS_POLICY = {
    "@type": f"{TYPE}{HTTP}.cors.v3.CorsPolicy",
    "allow_origin_string_match": [{"exact": "http://page.test"}],
}
LUA = {
    "name": "envoy.filters.http.lua",
    "typed_config": {
        "@type": f"{TYPE}{HTTP}.lua.v3.Lua",
        "default_source_code": {
            "inline_string": """
                function envoy_on_response(handle)
                  handle:headers():add("x-seen", handle:headers():get(":status"))
                end
            """
        },
    },
}
COMPRESSOR = {
    "name": "envoy.filters.http.compressor",
    "typed_config": {
        "@type": f"{TYPE}{HTTP}.compressor.v3.Compressor",
        "compressor_library": {
            "name": "gzip",
            "typed_config": {"@type": f"{TYPE}envoy.extensions.compression.gzip.compressor.v3.Gzip"},
        },
    },
}
GRPC_WEB = {
    "name": "envoy.filters.http.grpc_web",
    "typed_config": {"@type": f"{TYPE}{HTTP}.grpc_web.v3.GrpcWeb"},
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    def rule(request: Any) -> Behaviour:
        grpc = request.header("content-type") == "application/grpc"
        return Behaviour.grpc(b"") if grpc else Behaviour(headers=(("content-type", "text/plain"),))

    with Upstream(default=rule) as server:
        yield server


@pytest.fixture(params=RULES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def among(upstream: Upstream, position: str, *filters: dict[str, Any], http2: bool = False) -> dict[str, Any]:
    """A bootstrap with other filters before ours."""
    routes = []
    for name, rule in RULES.items():
        made = route(f"/{name}/", rule)
        made["typed_per_filter_config"][CORS["name"]] = CORS_POLICY
        routes.append(made)
    for made in [*routes]:
        name = made["match"]["prefix"]
        grpc = {"match": {"prefix": f"/grpc{name}"}}
        routes.append(made | grpc)
    routes.append(route("/brownout.", always(503, HOLD)))
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=http2)
    manager = manager_of(config)
    manager["http_filters"] = [*filters, *manager["http_filters"]]
    if CORS not in filters:
        for made in routes:
            made["typed_per_filter_config"].pop(CORS["name"], None)
    return config


def is_forced(answer: RawResponse) -> None:
    assert (answer.status, answer.body.decode(), answer.complete) == (503, LARGE, True)


def test_cors(envoys: Envoys, upstream: Upstream, position: str, name: str) -> None:
    """A page may read the error."""
    with envoys.on(among(upstream, position, CORS)) as envoy:
        for http2 in (False, True):
            origin = [("origin", "http://page.test")]
            answer = exchange(envoy.address(), path=f"/{name}/", headers=origin, http2=http2)
            is_forced(answer)
            assert answer.header("access-control-allow-origin") == "http://page.test"


def test_lua(envoys: Envoys, upstream: Upstream, position: str, name: str) -> None:
    """A script sees it once."""
    with envoys.on(among(upstream, position, LUA)) as envoy:
        for http2 in (False, True):
            answer = exchange(envoy.address(), path=f"/{name}/", http2=http2)
            is_forced(answer)
            assert [value for key, value in answer.headers if key == "x-seen"] == ["503"]


def test_compressor(envoys: Envoys, upstream: Upstream, position: str, name: str) -> None:
    """It is compressed for a client that takes that."""
    with envoys.on(among(upstream, position, COMPRESSOR)) as envoy:
        for http2 in (False, True):
            accept = [("accept-encoding", "gzip")]
            answer = exchange(envoy.address(), path=f"/{name}/", headers=accept, http2=http2)
            assert (answer.status, answer.complete) == (503, True)
            assert answer.header("content-encoding") == "gzip"
            assert gzip.decompress(answer.body).decode() == LARGE


def test_grpc_web(envoys: Envoys, upstream: Upstream, position: str, name: str) -> None:
    """A client of gRPC-Web is told the status in its own way: among the headers, or as the last frame."""
    with envoys.on(among(upstream, position, GRPC_WEB, http2=True)) as envoy:
        headers = [("content-type", "application/grpc-web+proto"), ("accept", "application/grpc-web+proto")]
        answer = exchange(envoy.address(), "POST", f"/grpc/{name}/", headers=headers, body=EMPTY_MESSAGE)
        assert answer.status in {200, 503}  # the latter as with the reply of Envoy's own fault filter
        assert answer.complete
        assert (answer.header("content-type") or "").startswith("application/grpc-web")
        told = [value for key, value in answer.headers if key == "grpc-status"]
        told += [
            line.partition(":")[2].strip()
            for line in answer.body[5:].decode().split("\r\n")
            if line.startswith("grpc-status:")
        ]
        if position == "upstream":
            told = told[
                :1
            ]  # alone in the cluster it tells the status twice: to the router, and to the client
        assert told == ["14"]
        assert answer.trailers == []


def descriptor() -> bytes:
    """`brownout.Shop.Buy`, which takes and returns an empty message."""
    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="shop.proto", package="brownout", syntax="proto3")
    file.message_type.add(name="Nothing")
    service = file.service.add(name="Shop")
    service.method.add(name="Buy", input_type=".brownout.Nothing", output_type=".brownout.Nothing")
    return files.SerializeToString()


TRANSCODED = {
    "local": always(503, HOLD),
    "local-now": always(503),
    "upstream": always(503, HOLD, override="upstream_response"),
    "upstream-now": always(503, override="upstream_response"),
    "delay": always(200, HOLD),
}


@pytest.mark.parametrize("rule", TRANSCODED)
def test_a_transcoder(envoys: Envoys, upstream: Upstream, position: str, rule: str) -> None:
    """A client of JSON gets the status that the call would have got."""
    transcoder = {
        "name": "envoy.filters.http.grpc_json_transcoder",
        "typed_config": {
            "@type": f"{TYPE}{HTTP}.grpc_json_transcoder.v3.GrpcJsonTranscoder",
            "proto_descriptor_bin": base64.b64encode(descriptor()).decode(),
            "services": ["brownout.Shop"],
            "auto_mapping": True,
            "convert_grpc_status": True,
        },
    }
    routes = [route("/", TRANSCODED[rule])]
    config = static_bootstrap(upstream.port, routes=routes, position=position, http2=True)
    manager = manager_of(config)
    manager["http_filters"] = [transcoder, *manager["http_filters"]]
    with envoys.on(config) as envoy:
        for http2 in (False, True):
            answer = exchange(
                envoy.address(),
                "POST",
                "/brownout.Shop/Buy",
                headers=[("content-type", "application/json")],
                body=b"{}",
                http2=http2,
            )
            assert answer.complete
            assert answer.status == (200 if rule == "delay" else 503)
            if rule == "delay":
                assert json.loads(answer.body) == {}
            elif answer.header("content-type") == "text/plain":
                assert "upstream" not in rule or position == "upstream"
                assert FAULT_TEXT.startswith(answer.body)  # as with the reply of Envoy's own fault filter
                assert answer.body
            elif not (position == "upstream" and rule.startswith("upstream")):
                # Alone in the cluster it can but tell the status twice: to the router, and to the client.
                told = json.loads(answer.body)
                assert (told["code"], told["message"]) == (14, FAULT_TEXT.decode().strip())


def test_the_access_log_has_the_clients_status(upstream: Upstream, version: str, position: str) -> None:
    """`%GRPC_STATUS%` and `%RESPONSE_CODE%` are what the client got."""
    config = among(upstream, position, http2=True)
    line = "logged: %GRPC_STATUS_NUMBER% %RESPONSE_CODE% %PATH%\n"
    manager_of(config)["access_log"] = [
        {
            "name": "stderr",
            "typed_config": {
                "@type": f"{TYPE}envoy.extensions.access_loggers.stream.v3.StderrAccessLog",
                "log_format": {"text_format_source": {"inline_string": line}},
            },
        }
    ]
    quick = ["--file-flush-interval-msec", "20"]
    with EnvoyProcess(config, version=version, args=quick) as envoy, Http2Client(envoy.address()) as client:
        for name in RULES:
            path = f"/grpc/{name}/"
            answer = client.answer(client.request("POST", path, headers=GRPC, body=EMPTY_MESSAGE))
            told = {value for key, value in (*answer.headers, *answer.trailers) if key == "grpc-status"}
            assert (answer.status, answer.complete, told) == (200, True, {"14"})
            assert envoy.wait_log(f"{path}\n") == f"logged: 14 200 {path}\n"
