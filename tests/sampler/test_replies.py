"""What a forced status answers, built with the behaviour."""

from typing import Any

import pytest

from filter_runtime._engine import Sampler
from tests.sampler.samples import profile, response


def reply(status: int, local: dict[str, Any] | None = None) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    entry = response(status) | ({} if local is None else {"local_response": local})
    body, headers, _ = Sampler(profile(entry)).reply(0)
    return body, headers


PLAIN = (b"content-type", b"text/plain")


@pytest.mark.parametrize("status", [400, 404, 503, 599])
@pytest.mark.parametrize("local", [None, {}])
def test_a_fault_says_which(status: int, local: dict[str, Any] | None) -> None:
    """From 400 on an omitted body is the generated text, which is plain text."""
    assert reply(status, local) == (f"fault filter abort: {status}\n".encode(), [PLAIN])


@pytest.mark.parametrize("status", [200, 204, 205, 302, 304, 399])
@pytest.mark.parametrize("local", [None, {}])
def test_below_400_an_omitted_body_is_empty(status: int, local: dict[str, Any] | None) -> None:
    """Neither a body nor a content type is made up."""
    assert reply(status, local) == (b"", [])


def test_the_profile_s_body_and_headers() -> None:
    """Repeated names stay, in their order, in lower case as Envoy has them; the body is UTF-8."""
    headers = [{"name": "Set-Cookie", "value": "a=1"}, {"name": "set-cookie", "value": "b=2"}]
    local = {"body": "zu viel: µ\n", "headers": headers}
    assert reply(503, local) == ("zu viel: µ\n".encode(), [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")])


def test_an_empty_body_stays_empty() -> None:
    """An empty body is not an omitted one."""
    assert reply(503, {"body": ""}) == (b"", [])


def test_the_generated_text_takes_the_profile_s_content_type() -> None:
    """There is one content type."""
    local = {"headers": [{"name": "Content-Type", "value": "text/x-fault"}]}
    assert reply(500, local) == (b"fault filter abort: 500\n", [(b"content-type", b"text/x-fault")])


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, 0),
        (299, 0),
        (302, 2),
        (400, 13),
        (401, 16),
        (403, 7),
        (404, 12),
        (409, 2),
        (429, 14),
        (500, 2),
        (501, 2),
        (502, 14),
        (503, 14),
        (504, 14),
        (505, 2),
    ],
)
def test_the_grpc_code_of_a_status(status: int, code: int) -> None:
    """By gRPC's own mapping of HTTP statuses; a success is a success."""
    assert Sampler(profile(response(status))).reply(0)[2] == code


def test_each_entry_has_its_own() -> None:
    """Entries of both tiers, in the order of the profile."""
    sampler = Sampler(profile(response(500), response(200), response(404)))
    assert [sampler.reply(i)[0] for i in range(3)] == [
        b"fault filter abort: 500\n",
        b"",
        b"fault filter abort: 404\n",
    ]
    with pytest.raises(IndexError, match="entry 3 of 3"):
        sampler.reply(3)
