"""What an endpoint answers: a status, its weight, its latencies, and the response of a forced status."""

from typing import Any

from brownout.profile.distribution import Distribution, dump_distribution, read_distribution
from brownout.profile.errors import quoted
from brownout.profile.headers import Header, read_headers
from brownout.profile.model import Model
from brownout.profile.reading import Fields, Value
from brownout.profile.scalars import integer, string

MAX_RESOLUTION = 2**40
"""The largest resolution of one response."""

MAX_RESPONSES = 1_000
"""The longest list of responses; all resolutions together fit in 63 bits by far."""

BODYLESS = frozenset({204, 205, 304})
"""Statuses whose responses have no body."""

_FIELDS = ("status", "resolution", "distribution", "local_response")
_LOCAL_FIELDS = ("body", "headers")


class LocalResponse(Model):
    """What a forced response carries; no `body` means none below 400, a generated one from there on."""

    body: str | None = None
    headers: tuple[Header, ...] = ()


class Response(Model):
    """One status: `resolution` is its weight, and the number of samples in a cycle of the stateful mode."""

    status: int
    resolution: int
    distribution: Distribution
    local_response: LocalResponse | None = None


def read_responses(value: Value) -> tuple[Response, ...] | None:
    """Read a list of one or more responses."""
    if isinstance(value.raw, list | tuple) and not 1 <= len(value.raw) <= MAX_RESPONSES:
        value.fail(f"expected 1 to {MAX_RESPONSES} responses, found {len(value.raw)}")
        return None
    return value.each(_read_response)


def _read_response(value: Value) -> Response | None:
    fields = Fields.of(value, _FIELDS)
    if fields is None:
        return None
    status = fields.required("status", _status)
    resolution = fields.required("resolution", _resolution)
    distribution = fields.required("distribution", read_distribution)
    local_response = fields.optional("local_response", lambda local: _read_local_response(local, status))
    if status is None or resolution is None or distribution is None:
        return None
    return Response(
        status=status, resolution=resolution, distribution=distribution, local_response=local_response
    )


_status = integer(200, 599)
_resolution = integer(1, MAX_RESOLUTION, "from 1 to 2^40")


def _read_local_response(value: Value, status: int | None) -> LocalResponse | None:
    fields = Fields.of(value, _LOCAL_FIELDS)
    if fields is None:
        return None

    def read_body(body: Value) -> str | None:
        text = string(body)
        if text and status in BODYLESS:
            body.fail(f"expected no body, because status {status} has none, found {quoted(text)}")
            return None
        return text

    return LocalResponse(
        body=fields.optional("body", read_body), headers=fields.defaulted("headers", read_headers, ())
    )


def dump_responses(responses: tuple[Response, ...]) -> list[dict[str, Any]]:
    """Return the list that `read_responses` reads as `responses`."""
    return [_dump_response(response) for response in responses]


def _dump_response(response: Response) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "status": response.status,
        "resolution": response.resolution,
        "distribution": dump_distribution(response.distribution),
    }
    local = response.local_response
    if local is not None:
        plain["local_response"] = {
            **({} if local.body is None else {"body": local.body}),
            **(
                {"headers": [{"name": h.name, "value": h.value} for h in local.headers]}
                if local.headers
                else {}
            ),
        }
    return plain
