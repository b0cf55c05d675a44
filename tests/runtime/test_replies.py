"""What a forced status answers: body, headers, statuses without a body, HEAD, gRPC."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import Behaviour, EnvoyProcess, RawResponse, Upstream, exchange, route, static_bootstrap

from .profiles import always, faults, own, profile, response

GRPC = [("content-type", "application/grpc"), ("te", "trailers")]
EMPTY_MESSAGE = b"\0\0\0\0\0"
STATUSES = (200, 201, 204, 205, 302, 304, 400, 404, 429, 500, 503, 599)
COOKIES = [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"], ["X-Other", "yes"]]
MANY = [[f"x-header-{n}", str(n)] for n in range(80)]


def local(status: int, latency: str = "5ms", **reply: Any) -> dict[str, Any]:
    """The direct shape of one status with a local response."""
    return profile(response(status, latency, **reply))


ROUTES = [
    *[route(f"/held/{status}", always(status, "5ms")) for status in STATUSES],
    *[route(f"/now/{status}", always(status)) for status in STATUSES],
    route("/body", local(503, body="héllo\n")),
    route("/empty-error", local(503, body="")),
    route("/typed", local(418, body="{}", headers=[["content-type", "application/json"]])),
    route("/untyped", local(503, headers=[["x-other", "1"]])),
    route("/html", local(503, headers=[["Content-Type", "text/html"]])),
    route("/cookies", local(200 + 3, body="x", headers=COOKIES)),
    route("/many", local(503, headers=MANY)),
    route("/large", local(503, body="x" * 500_000)),
    route("/grpc-status", local(503, headers=[["Grpc-Status", "7"], ["grpc-message", "not you"]])),
    route(
        "/grpc-status-rewritten",
        local(503, headers=[["grpc-status", "7"], ["grpc-message", "not you"]])
        | {"override": "upstream_response"},
    ),
    route("/long-message", local(503, body="é" * 2000)),
]


@pytest.fixture(scope="module", params=["http1", "http2"])
def upstream_is_http2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "http2")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    page = Behaviour(headers=(("content-type", "text/html"), ("x-upstream", "1")), body=b"<p>page</p>")
    paths: dict[str, Behaviour] = {
        f"/{held}/{status}/none": Behaviour(status=204) for held in ("held", "now") for status in STATUSES
    }
    with Upstream(
        paths,
        default=lambda request: (
            Behaviour.grpc(b"hello") if request.header("content-type") == "application/grpc" else page
        ),
    ) as server:
        yield server


@pytest.fixture(scope="module")
def address(upstream: Upstream, upstream_is_http2: bool) -> Iterator[tuple[str, int]]:
    config = static_bootstrap(upstream.port, routes=ROUTES, http2=upstream_is_http2)
    with EnvoyProcess(config) as envoy:
        yield envoy.address()


@pytest.fixture(params=["held", "now"])
def way(request: pytest.FixtureRequest) -> str:
    """Whether the answer is delayed or given inside the hook."""
    return str(request.param)


def text(status: int) -> bytes:
    return f"fault filter abort: {status}\n".encode()


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("status", STATUSES)
def test_the_sampled_status_is_authoritative(
    address: tuple[str, int], way: str, status: int, http2: bool
) -> None:
    """Each status comes out with its default body: none below 400, the fault text from 400 on."""
    answer = exchange(address, path=f"/{way}/{status}", http2=http2)
    assert answer.status == status
    assert answer.complete
    if status == 200:  # the upstream's own
        assert bytes(answer.body) == b"<p>page</p>"
        assert own(answer) == {"content-type": "text/html", "x-upstream": "1", "content-length": "11"}
    elif status >= 400:
        assert bytes(answer.body) == text(status)
        closes = {"connection": "close"} if status == 400 and not http2 else {}  # Envoy's own habit
        assert own(answer) == {"content-type": "text/plain", "content-length": "24"} | closes
    else:
        assert bytes(answer.body) == b""
        assert own(answer) in ({}, {"content-length": "0"})


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body_have_no_length(address: tuple[str, int], way: str, status: int) -> None:
    """A forced 204 or 304 has neither body nor content-length."""
    assert own(exchange(address, path=f"/{way}/{status}")) == {}


@pytest.mark.parametrize("status", [204, 304])
def test_matching_statuses_without_a_body_pass(upstream: Upstream, status: int) -> None:
    """An upstream's own 204 and 304 are held and pass as they are."""
    upstream[f"/same/{status}"] = Behaviour(status=status, headers=(("etag", '"1"'),))
    with EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", always(status, "20ms"))])) as envoy:
        started = time.monotonic()
        answer = exchange(envoy.address(), path=f"/same/{status}")
        assert time.monotonic() - started >= 0.02
    assert (answer.status, own(answer)["etag"], bytes(answer.body)) == (status, '"1"', b"")
    assert "x-fault-injected" not in faults(answer)


@pytest.mark.parametrize("http2", [False, True])
def test_head_has_the_headers_and_no_body(address: tuple[str, int], way: str, http2: bool) -> None:
    """A forced status answers HEAD like GET without the body; a matching one passes."""
    forced = exchange(address, "HEAD", f"/{way}/503", http2=http2)
    assert (forced.status, bytes(forced.body), forced.complete) == (503, b"", True)
    assert own(forced) == {"content-type": "text/plain", "content-length": "24"}
    same = exchange(address, "HEAD", f"/{way}/200", http2=http2)
    assert (same.status, bytes(same.body), same.complete) == (200, b"", True)
    assert own(same)["content-length"] == "11"


def test_a_configured_body(address: tuple[str, int]) -> None:
    """`local_response.body` is sent as UTF-8, with the length that Envoy calculates."""
    answer = exchange(address, path="/body")
    assert bytes(answer.body) == "héllo\n".encode()
    assert own(answer) == {"content-type": "text/plain", "content-length": "7"}


def test_an_empty_body_replaces_the_fault_text(address: tuple[str, int]) -> None:
    """An empty body is not an omitted one."""
    answer = exchange(address, path="/empty-error")
    assert (answer.status, bytes(answer.body)) == (503, b"")


def test_content_type_is_the_profiles_or_text(address: tuple[str, int]) -> None:
    """A configured content-type, in any case, is the only one; without one the text is text/plain."""
    assert own(exchange(address, path="/typed"))["content-type"] == "application/json"
    assert own(exchange(address, path="/untyped"))["content-type"] == "text/plain"
    typed = [value for name, value in exchange(address, path="/html").headers if name == "content-type"]
    assert typed == ["text/html"]


def test_repeated_header_names_are_retained(address: tuple[str, int]) -> None:
    """Each configured header is sent, in order, also those of one name."""
    pairs = exchange(address, path="/cookies").headers
    assert [value for name, value in pairs if name == "set-cookie"] == ["a=1", "b=2"]
    assert ("x-other", "yes") in pairs


def test_more_headers_than_usual(address: tuple[str, int]) -> None:
    """Eighty configured headers and the filter's own all arrive."""
    answer = exchange(address, path="/many")
    assert [pair for pair in answer.headers if pair[0].startswith("x-header-")] == [
        tuple(pair) for pair in MANY
    ]
    assert faults(answer)["x-fault-status"] == "503"


def test_a_large_body(address: tuple[str, int]) -> None:
    """Half a megabyte arrives whole."""
    assert bytes(exchange(address, path="/large").body) == b"x" * 500_000


def test_the_upstreams_headers_are_gone(address: tuple[str, int], way: str) -> None:
    """A forced status carries nothing of the upstream's response."""
    assert "x-upstream" not in own(exchange(address, path=f"/{way}/503"))


def grpc(address: tuple[str, int], path: str) -> RawResponse:
    """A unary gRPC call."""
    return exchange(address, "POST", path, headers=GRPC, body=EMPTY_MESSAGE, http2=True)


@pytest.mark.parametrize(
    ("status", "code"),
    [(201, "0"), (302, "2"), (400, "13"), (404, "12"), (429, "14"), (500, "2"), (503, "14")],
)
def test_grpc_gets_a_trailers_only_answer(address: tuple[str, int], way: str, status: int, code: str) -> None:
    """A gRPC request whose status is forced gets the standard code and a message, in the headers."""
    answer = grpc(address, f"/{way}/{status}")
    assert (answer.status, bytes(answer.body), answer.trailers, answer.complete) == (200, b"", [], True)
    found = own(answer)
    assert found["content-type"] == "application/grpc"
    assert found["grpc-status"] == code
    assert found.get("grpc-message") == (f"fault filter abort: {status}" if status >= 400 else None)
    assert faults(answer)["x-fault-status"] == str(status)


def test_grpc_of_the_sampled_status_passes(address: tuple[str, int], way: str) -> None:
    """A gRPC response whose HTTP status matches keeps message and trailers."""
    answer = grpc(address, f"/{way}/200")
    assert bytes(answer.body) == b"\0\0\0\0\5hello"
    assert answer.trailers == [("grpc-status", "0")]


@pytest.mark.parametrize("path", ["/grpc-status", "/grpc-status-rewritten"])
def test_a_configured_grpc_status_is_the_only_one(address: tuple[str, int], path: str) -> None:
    """A `grpc-status` and a `grpc-message` among the profile's headers replace the standard ones."""
    answer = grpc(address, path)
    told = {pair for pair in (*answer.headers, *answer.trailers) if pair[0].startswith("grpc-")}
    assert told == {("grpc-status", "7"), ("grpc-message", "not you")}


@pytest.mark.parametrize("override", ["local_response", "upstream_response"])
@pytest.mark.parametrize("latency", ["0s", "5ms"])
@pytest.mark.parametrize(("status", "expected"), [(503, "text/plain"), (201, "text/plain"), (204, None)])
def test_a_body_without_a_type_is_text(
    override: str, latency: str, status: int, expected: str | None
) -> None:
    """A configured body has a content-type, however the status is forced."""
    body: dict[str, Any] = {} if status == 204 else {"body": "b"}
    rule = profile(response(status, latency, headers=[["x-own", "1"]], **body), override=override)
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", rule)])) as one,
    ):
        answer = exchange(one.address())
    assert (answer.status, answer.header("content-type"), answer.header("x-own")) == (status, expected, "1")


def test_a_grpc_message_is_encoded_and_bounded(address: tuple[str, int]) -> None:
    """The message is the body's beginning, percent-encoded and never cut within a character."""
    assert own(grpc(address, "/body"))["grpc-message"] == "h%C3%A9llo"
    assert own(grpc(address, "/long-message"))["grpc-message"] == "%C3%A9" * 512


def test_the_response_code_details_name_the_filter(upstream: Upstream, tmp_path: Path) -> None:
    """An injected reply is recognisable in Envoy's access log."""
    log = tmp_path / "access.log"
    config = static_bootstrap(upstream.port, routes=[route("/", always(503))])
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["access_log"] = [
        {
            "name": "file",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
                "path": str(log),
                "log_format": {"text_format_source": {"inline_string": "%RESPONSE_CODE_DETAILS%\n"}},
            },
        }
    ]
    with EnvoyProcess(config) as envoy:
        exchange(envoy.address())
    assert log.read_text() == "brownout_fault_injected\n"
