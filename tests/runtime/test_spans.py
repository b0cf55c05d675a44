"""The `fault.*` attributes of the active span, as a real OTLP receiver gets them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import EnvoyProcess, Upstream, cluster, exchange, route, static_bootstrap, wait_until

from .otlp import Span, spans
from .profiles import always, faults

OTLP = "/v1/traces"
ROUTES = [
    route("/delay", always(200, "20ms")),
    route("/abort", always(503, "5ms", diagnostic=True, label="slow@1")),
    route("/respond", always(201)),
    route("/silent", always(503, headers=False)),
    route("/untouched"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


@pytest.fixture(scope="module")
def receiver() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def traced(
    upstream: Upstream, receiver: Upstream, position: str = "both", **tracing: object
) -> dict[str, Any]:
    """A bootstrap that traces every request to the receiver."""
    config = static_bootstrap(upstream.port, routes=ROUTES, position=position)
    config["static_resources"]["clusters"].append(cluster(receiver.port, name="otlp"))
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["tracing"] = {
        "provider": {
            "name": "envoy.tracers.opentelemetry",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
                "http_service": {
                    "http_uri": {"uri": f"http://otlp{OTLP}", "cluster": "otlp", "timeout": "1s"}
                },
                "service_name": "test",
            },
        },
        **tracing,
    }
    flush = {"tracing.opentelemetry.min_flush_spans": 1}
    config["layered_runtime"] = {"layers": [{"name": "static", "static_layer": flush}]}
    return config


def received(receiver: Upstream, count: int) -> list[Span]:
    """Wait for that many spans; the receiver starts empty."""

    def so_far() -> list[Span]:
        return [
            span
            for request in list(receiver.requests)
            if request.path == OTLP
            for span in spans(request.body)
        ]

    wait_until(lambda: len(so_far()) >= count)
    return so_far()


@pytest.fixture(params=[False, True], ids=["one-span", "upstream-span"])
def upstream_span(request: pytest.FixtureRequest) -> bool:
    """Whether Envoy makes a span of its own for each upstream request."""
    return bool(request.param)


def fault_attributes(
    upstream: Upstream, receiver: Upstream, path: str, version: str, upstream_span: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """The `fault.*` attributes of one request's spans, and its `x-fault-*` headers."""
    receiver.requests.clear()
    config = traced(upstream, receiver, spawn_upstream_span=upstream_span)
    with EnvoyProcess(config, version=version) as envoy:
        answer = exchange(envoy.address(), path=path)
        found = received(receiver, 1 + upstream_span)
    attributes = {
        name: value for span in found for name, value in span.attributes.items() if name.startswith("fault.")
    }
    return attributes, faults(answer)


@pytest.mark.parametrize("path", ["/delay", "/abort", "/respond"])
def test_attributes_say_what_the_headers_say(
    upstream: Upstream, receiver: Upstream, version: str, upstream_span: bool, path: str
) -> None:
    """Each header is an attribute: `x-fault-status` is `fault.status`."""
    attributes, headers = fault_attributes(upstream, receiver, path, version, upstream_span)
    assert attributes == {f"fault.{name.removeprefix('x-fault-')}": value for name, value in headers.items()}
    assert attributes["fault.upstream-status"] == "200"
    assert attributes["fault.status"] == {"/delay": "200", "/abort": "503", "/respond": "201"}[path]


@pytest.mark.parametrize("position", ["upstream", "downstream", "both"])
def test_one_span_has_them(
    upstream: Upstream, receiver: Upstream, version: str, upstream_span: bool, position: str
) -> None:
    """Each once, on the span of the filter that decided."""
    receiver.requests.clear()
    config = traced(upstream, receiver, position, spawn_upstream_span=upstream_span)
    with EnvoyProcess(config, version=version) as envoy:
        answer = exchange(envoy.address(), path="/abort")
        found = received(receiver, 1 + upstream_span)
    described = [span for span in found if "fault.status" in span.attributes]
    assert len(described) == 1
    assert described[0].attributes["fault.status"] == faults(answer)["x-fault-status"] == "503"


def test_attributes_without_headers(upstream: Upstream, receiver: Upstream) -> None:
    """`headers: false` is about headers: the span is described all the same."""
    attributes, headers = fault_attributes(upstream, receiver, "/silent", "1.40.0", upstream_span=False)
    assert headers == {}
    assert attributes["fault.injected"] == "abort"
    assert attributes["fault.status"] == "503"


def test_untouched_requests_have_none(upstream: Upstream, receiver: Upstream) -> None:
    """Only matched responses are described."""
    attributes, _ = fault_attributes(upstream, receiver, "/untouched", "1.40.0", upstream_span=False)
    assert attributes == {}
