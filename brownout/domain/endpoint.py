"""An endpoint: one entry of a fleet's ordered list."""

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from brownout.domain.base import Entity, Named
from brownout.domain.fault import Fault
from brownout.domain.hosts import ANY_HOST, normal_host
from brownout.domain.problems import at
from brownout.domain.revision import Kind
from brownout.domain.scalars import Duration, Items, Name, NotEmpty, distinct
from brownout.profile import HeaderMatch, Match, dump

DEFAULT_TIMEOUT = 15_000_000_000
"""Route timeout in nanoseconds of an endpoint that states none (Envoy's own default)."""

RETRY_ON = (
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "envoy-ratelimited",
    "retriable-4xx",
    "refused-stream",
    "http3-post-connect-failure",
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
)
"""Envoy's retry conditions that need no further configuration (HTTP's, then gRPC's)."""

_TOKEN = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]+")


def _method(value: str) -> str:
    if not _TOKEN.fullmatch(value):
        raise ValueError('expected an HTTP method in capitals, like "GET"')
    return value


def _path(value: str) -> str:
    if not value.startswith("/") or not value.isprintable() or not value.isascii() or " " in value:
        raise ValueError('expected a path that starts with "/", percent-encoded as on the wire')
    if "?" in value or "#" in value:
        raise ValueError("expected a path without query or fragment: they are not compared")
    return value


def _retry_on(value: str) -> str:
    conditions = [each.strip() for each in value.split(",")]
    for each in conditions:
        if each not in RETRY_ON:
            raise ValueError(f"{each!r} is none of Envoy's conditions {', '.join(RETRY_ON)}")
    return ",".join(conditions)


def _show_headers(headers: tuple[HeaderMatch, ...]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = dump(Match(headers=headers)).get("headers", [])
    return shown


Path = Annotated[str, AfterValidator(_path)]


class EndpointMatch(Entity):
    """Which requests: one of `hosts`, the path, one of `methods`, and all `headers`.

    What is empty matches all. `prefix` and `exact` exclude each other; both are compared without the query.
    """

    hosts: Annotated[
        tuple[Annotated[str, AfterValidator(normal_host)], ...], Items, NotEmpty, distinct("host")
    ] = (ANY_HOST,)
    prefix: Path | None = None
    exact: Path | None = None
    methods: Annotated[tuple[Annotated[str, AfterValidator(_method)], ...], Items, distinct("method")] = ()
    headers: Annotated[
        tuple[HeaderMatch, ...], Items, PlainSerializer(_show_headers, return_type=list, when_used="json")
    ] = ()

    @model_validator(mode="after")
    def _one_path(self) -> Self:
        if self.prefix is not None and self.exact is not None:
            raise at("exact", "give either prefix or exact, not both")
        return self


class Retry(Entity):
    """Envoy's retries: `attempts` more after the first try, on the conditions of `retry_on`.

    Every try, the first included, takes at most `per_try_timeout` (null: no limit but the endpoint's).
    """

    retry_on: Annotated[str, AfterValidator(_retry_on)]
    attempts: Annotated[int, Field(ge=1, le=1000)] = 1
    per_try_timeout: Duration | None = None


class Endpoint(Named):
    """One entry; the first that matches wins, whatever the hosts.

    `timeout` 0 means none. In a `filter` fleet `upstream`, `timeout` and `retry` are null; elsewhere the
    first two are set (`brownout.domain.rules` holds that and fills in the default).
    """

    kind: ClassVar[Kind] = "endpoint"

    match: EndpointMatch = EndpointMatch()
    upstream: Name | None = None
    timeout: Duration | None = None
    retry: Retry | None = None
    fault: Fault | None = None
