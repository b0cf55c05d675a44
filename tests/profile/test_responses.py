"""Statuses, resolutions, and what a forced response carries."""

from typing import Any

import pytest

from brownout.profile import Header, LocalResponse, Response, load_profile
from tests.profile.samples import PROFILE, RESPONSE, changed, errors, paths, without

AT = "responses[0]"


def with_response(name: str, value: object) -> dict[str, Any]:
    return changed(PROFILE, "responses", 0, name, to=value)


def with_headers(*headers: object) -> dict[str, Any]:
    return with_response("local_response", {"headers": list(headers)})


def only_response(document: object) -> Response:
    behavior = load_profile(document)  # type: ignore[arg-type]  # whatever a test brings
    assert behavior.responses is not None
    return behavior.responses[0]


def local(document: object) -> LocalResponse:
    local_response = only_response(document).local_response
    assert local_response is not None
    return local_response


@pytest.mark.parametrize("status", [200, 204, 304, 418, 599])
def test_a_status_is_an_integer_from_200_to_599(status: int) -> None:
    assert only_response(with_response("status", status)).status == status


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("200", 'the string "200"'),
        (200.0, "the number 200.0"),
        (True, "true"),
        (None, "null"),
        ([200], "a list"),
        (199, "the integer 199"),
        (600, "the integer 600"),
        (100, "the integer 100"),
        (0, "the integer 0"),
        (-200, "the integer -200"),
        (10**30, f"the integer {10**30}"),
        (10**4000, "the integer of 13288 bits"),
    ],
)
def test_any_other_status_is_refused(status: object, found: str) -> None:
    assert errors(load_profile, with_response("status", status)) == [
        (f"{AT}.status", f"expected an integer from 200 to 599, found {found}")
    ]


@pytest.mark.parametrize("resolution", [1, 1_000_000, 2**40])
def test_a_resolution_is_an_integer_from_1_to_2_to_the_40(resolution: int) -> None:
    assert only_response(with_response("resolution", resolution)).resolution == resolution


@pytest.mark.parametrize("resolution", [0, -1, 2**40 + 1, 2**63, 1.0, "10", True, None, {}])
def test_any_other_resolution_is_refused(resolution: object) -> None:
    path, message = errors(load_profile, with_response("resolution", resolution))[0]
    assert path == f"{AT}.resolution"
    assert message.startswith("expected an integer from 1 to 2^40, found ")


@pytest.mark.parametrize("name", ["status", "resolution", "distribution"])
def test_status_resolution_and_distribution_are_required(name: str) -> None:
    assert errors(load_profile, without(PROFILE, "responses", 0, name)) == [(f"{AT}.{name}", "is required")]


@pytest.mark.parametrize("responses", [{}, None, "x", 1, RESPONSE])
def test_responses_are_a_list(responses: object) -> None:
    path, message = errors(load_profile, {"responses": responses})[0]
    assert path == "responses"
    assert message.startswith("expected a list, found ")


@pytest.mark.parametrize("length", [0, 1001])
def test_the_list_has_1_to_1000_responses(length: int) -> None:
    assert errors(load_profile, {"responses": [RESPONSE] * length}) == [
        ("responses", f"expected 1 to 1000 responses, found {length}")
    ]
    assert load_profile({"responses": [RESPONSE] * 1000}).responses is not None


def test_a_status_may_be_given_twice() -> None:
    behavior = load_profile({"responses": [RESPONSE, RESPONSE]})
    assert behavior.responses is not None
    assert [response.status for response in behavior.responses] == [200, 200]


@pytest.mark.parametrize("response", [None, [], 200, "200", True])
def test_a_response_is_a_mapping(response: object) -> None:
    path, message = errors(load_profile, {"responses": [response]})[0]
    assert path == AT
    assert message.startswith(
        "expected a mapping with status, resolution, distribution, local_response, found "
    )


def test_a_local_response_may_be_absent_empty_or_partial() -> None:
    assert only_response(PROFILE).local_response is None
    assert local(with_response("local_response", {})) == LocalResponse()
    assert local(with_response("local_response", {"body": ""})) == LocalResponse(body="")
    assert local(with_response("local_response", {"body": "héllo\n"})).body == "héllo\n"
    assert local(with_response("local_response", {"headers": []})) == LocalResponse()


@pytest.mark.parametrize("body", [None, 5, True, ["x"], {"x": 1}])
def test_a_body_is_a_string(body: object) -> None:
    assert paths(load_profile, with_response("local_response", {"body": body})) == [
        f"{AT}.local_response.body"
    ]


@pytest.mark.parametrize("body", ["\0", "a\0b", "\ud800"])
def test_a_body_can_be_written_as_utf_8_and_has_no_nul(body: str) -> None:
    assert paths(load_profile, with_response("local_response", {"body": body})) == [
        f"{AT}.local_response.body"
    ]


@pytest.mark.parametrize("status", [204, 205, 304])
def test_a_status_without_body_has_none(status: int) -> None:
    response = {**RESPONSE, "status": status, "local_response": {"body": "x"}}
    assert errors(load_profile, {"responses": [response]}) == [
        (f"{AT}.local_response.body", f'expected no body, because status {status} has none, found "x"')
    ]
    empty = {**RESPONSE, "status": status, "local_response": {"body": ""}}
    assert local({"responses": [empty]}).body == ""


def test_headers_are_mappings_or_pairs_and_repeated_names_stay() -> None:
    headers = local(
        with_headers(
            {"name": "Set-Cookie", "value": "a=1"}, ["set-cookie", "b=2"], ["X-Empty", ""], ["x", "é"]
        )
    ).headers
    assert headers == (
        Header(name="set-cookie", value="a=1"),
        Header(name="set-cookie", value="b=2"),
        Header(name="x-empty", value=""),
        Header(name="x", value="é"),
    )


@pytest.mark.parametrize(
    ("header", "suffix", "start"),
    [
        ("x: y", "", "expected a mapping with name, value, found the string"),
        (None, "", "expected a mapping with name, value, found null"),
        (["x"], "", "expected a pair of name and value, found a list of 1"),
        (["x", "y", "z"], "", "expected a pair of name and value, found a list of 3"),
        ({"x": "y"}, ".x", "unknown field; known fields: name, value"),
        ({"name": "x"}, ".value", "is required"),
        ({"value": "x"}, ".name", "is required"),
        (["x", 5], "[1]", "expected a string, found the integer 5"),
        ({"name": "x", "value": None}, ".value", "expected a string, found null"),
        ({"name": True, "value": "x"}, ".name", "expected a string, found true"),
    ],
)
def test_any_other_shape_of_a_header_is_refused(header: object, suffix: str, start: str) -> None:
    path, message = errors(load_profile, with_headers(header))[0]
    assert path == f"{AT}.local_response.headers[0]{suffix}"
    assert message.startswith(start)


def test_headers_are_no_mapping_of_names_to_values() -> None:
    document = with_response("local_response", {"headers": {"x": "y"}})
    assert errors(load_profile, document) == [
        (f"{AT}.local_response.headers", "expected a list, found a mapping")
    ]


@pytest.mark.parametrize("name", ["", " ", "a b", "a:", "a\n", "\tx", "é", "a,b", "(x)", 'a"b', "a/b", "x\0"])
def test_a_header_name_is_a_token(name: str) -> None:
    assert paths(load_profile, with_headers([name, "x"])) == [f"{AT}.local_response.headers[0][0]"]


@pytest.mark.parametrize(
    "name",
    [
        ":status", ":path", ":", "content-length", "Content-Length", "transfer-encoding", "connection",
        "Keep-Alive", "proxy-connection", "upgrade", "trailer", "te", "TE", "x-fault-injected",
        "X-Fault-Anything", "x-fault-",
    ],
)  # fmt: skip
def test_reserved_names_are_refused(name: str) -> None:
    path, message = errors(load_profile, with_headers({"name": name, "value": "x"}))[0]
    assert path == f"{AT}.local_response.headers[0].name"
    assert message.startswith(f'"{name}" is reserved, as are pseudo-headers, connection, content-length')


@pytest.mark.parametrize("name", ["x-fault", "tea", "x-envoy-y", "date", "!#$%&'*+-.^_`|~9", "trailers"])
def test_names_near_the_reserved_ones_are_not(name: str) -> None:
    assert local(with_headers([name, "x"])).headers == (Header(name=name, value="x"),)


@pytest.mark.parametrize(
    "value",
    [
        "\r\nx: y", "a\rb", "a\n", "a\vb", "a\t\nb", "\x1b[0m", "\x7f", "\x00", "\x85", "\x9f", " x", "x ",
        " ", "\tx", "x\t", " \tx", "\t", "\ud800",
    ],
)  # fmt: skip
def test_a_header_value_has_no_control_characters_and_no_blanks_around_it(value: str) -> None:
    assert paths(load_profile, with_headers(["x", value])) == [f"{AT}.local_response.headers[0][1]"]


@pytest.mark.parametrize("value", ["a\tb", "a \t b", "a\t\tb", "\u00a0x", ""])
def test_a_header_value_may_have_tabs_inside_or_be_empty(value: str) -> None:
    (header,) = local(with_headers(["x", value])).headers
    assert header.value == value


@pytest.mark.parametrize("value", ["", " ", "\u00a0", "\u2003\u3000", "\u200b", "\ufeff", "\t", "\n"])
def test_a_content_type_is_not_blank(value: str) -> None:
    path, message = errors(load_profile, with_headers({"name": "Content-Type", "value": value}))[0]
    assert path == f"{AT}.local_response.headers[0].value"
    assert message.startswith("expected a content type, found only blanks")


def test_a_content_type_is_given_once() -> None:
    once, again = ["content-type", "a/b"], {"name": "Content-Type", "value": "a/b"}
    document = with_headers(once, ["x", "y"], again)
    assert errors(load_profile, document) == [
        (f"{AT}.local_response.headers[2].name", "content-type may be given only once")
    ]


def test_all_errors_of_all_responses_are_listed_at_once() -> None:
    document = {
        "responses": [
            {"status": 204, "resolution": 0, "local_response": {"body": "x", "headers": [["te", "\n"]]}},
            {"status": "x", "resolution": 1, "distribution": {}, "local_response": {"body": 1, "header": []}},
        ]
    }
    assert paths(load_profile, document) == [
        "responses[0].resolution",
        "responses[0].distribution",
        "responses[0].local_response.body",
        "responses[0].local_response.headers[0][0]",
        "responses[0].local_response.headers[0][1]",
        "responses[1].status",
        "responses[1].distribution",
        "responses[1].local_response.header",
        "responses[1].local_response.body",
    ]
