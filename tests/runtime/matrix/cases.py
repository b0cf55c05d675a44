"""All combinations of clients, places, limits, responses, draws and retries that are worth a request."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.runtime.profiles import always, profile, response
from tests.support import OLDER, REFERENCE, Behaviour, filler_headers, route

VERSIONS = (REFERENCE, *OLDER)
POSITIONS = ("upstream", "downstream", "both")
LIMITS: dict[str, int | None] = {"1KiB": 1024, "16KiB": 16_384, "32KiB": 32_768, "usual": None, "none": 0}
HOLD = "30ms"
NARROW = 1000  # the window of a narrow client
TRAILERS = (("x-end", "1"), ("x-other", "2"))
GRPC_TRAILERS = (("grpc-status", "0"), ("grpc-message", "fine"))
NEW_BODY = "q" * 100_000

CLIENTS = (
    "h1",
    "h1-pipelined",  # behind a download that it is slow to read
    "h2",
    "h2-narrow",  # the smallest windows
    "h2-slow",  # beside a download that it does not read for a while
    "h2-many",  # several of the same at once
    "h2-tls",
    "grpc",
)
DRAWS = (
    "delay",
    "pass",
    "forced",
    "forced-large",
    "success",
    "rewritten",
    "rewritten-large",
    "rewritten-now",
)
_AGAIN = [200, 204, 401, 500, 503]
RETRIES: dict[str, dict[str, Any]] = {
    "once": {},
    "5xx": {"retry_policy": {"retry_on": "5xx", "num_retries": 2}},
    "codes": {
        "retry_policy": {
            "retry_on": "retriable-status-codes",
            "retriable_status_codes": _AGAIN,
            "num_retries": 1,
        }
    },
    "hedging": {
        "retry_policy": {
            "retry_on": "5xx,retriable-status-codes",
            "retriable_status_codes": _AGAIN,
            "num_retries": 2,
            "per_try_timeout": "0.012s",
        },
        "hedge_policy": {"hedge_on_per_try_timeout": True},
    },
}
for _options in RETRIES.values():
    if "retry_policy" in _options:
        _options["retry_policy"]["retry_back_off"] = {"base_interval": "0.001s", "max_interval": "0.001s"}


@dataclass(frozen=True)
class Group:
    """One Envoy."""

    version: str
    position: str
    limit: str
    http2: bool

    def __str__(self) -> str:
        return f"{self.version} {self.position} {self.limit} {'to-http2' if self.http2 else 'to-http1'}"

    @property
    def size(self) -> int:
        """Around which bodies are made: the listener's limit, or what Envoy has without one."""
        limit = LIMITS[self.limit]
        return {None: 1024 * 1024, 0: 65_536}.get(limit) or int(limit or 0)

    @property
    def shapes(self) -> dict[str, Behaviour]:
        """What the upstream sends, by name."""
        return shapes(self.size)


@dataclass(frozen=True)
class Case:
    """One request, or a few on one connection."""

    group: Group
    client: str
    shape: str
    draw: str
    retry: str

    def __str__(self) -> str:
        return f"{self.group} {self.client} {self.shape} {self.draw} {self.retry}"

    @classmethod
    def parse(cls, text: str) -> "Case":
        """The case that `str` wrote."""
        version, position, limit, protocol, *rest = text.split()
        return cls(Group(version, position, limit, protocol == "to-http2"), *rest)

    @property
    def behaviour(self) -> Behaviour:
        """What the upstream does."""
        return behaviour_of(self.group.size, self.shape, grpc=self.client == "grpc")

    @property
    def path(self) -> str:
        """Where it is asked for."""
        return f"/{self.draw}-{self.behaviour.status}-{self.retry}/{self.shape}"

    @property
    def is_early(self) -> bool:
        """Whether the answer comes before the request has ended."""
        return self.behaviour.early

    @property
    def is_forced(self) -> bool:
        """Whether a status is drawn that is not the upstream's."""
        return self.draw not in {"delay", "pass"}

    @property
    def makes_sense(self) -> bool:
        """Whether a client can ask this."""
        if self.client == "grpc":
            ends_as_calls_do = bool(self.behaviour.trailers) or self.shape == "empty"
            return self.shape != "head" and (ends_as_calls_do or bool(self.behaviour.reset))
        return True

    @property
    def is_known_to_fail(self) -> bool:
        """Whether it meets a known limit; tests/runtime/crashes shows them one by one.

        With a 103 before a response that the cluster holds, Envoy may die; with hedging, attempts that are
        still under way when they are due may reach the client together.
        """
        if self.group.position == "downstream":
            return False
        if self.shape == "hints":
            return self.draw not in {"pass", "rewritten-now"}
        unfinished = (self.behaviour.size or 0) > self.group.size or bool(self.behaviour.reset)
        return self.retry == "hedging" and unfinished


def shapes(size: int) -> dict[str, Behaviour]:
    """Responses around a size."""
    made = {
        "empty": Behaviour(body=b""),
        "no-content": Behaviour(status=204),
        "head": Behaviour(size=100),
        "small": Behaviour(),
        "small-trailers": Behaviour(trailers=TRAILERS),
        "only-trailers": Behaviour(body=b"", trailers=TRAILERS),
        "headers": Behaviour(headers=filler_headers(33_000)),
        "headers-trailers": Behaviour(headers=filler_headers(33_000), trailers=TRAILERS),
        "late": Behaviour(size=size, pause=0.005),
        "slow": Behaviour(delay=0.015),
        "hints": Behaviour(informational=103),
        "leaves": Behaviour(leaves=True),
        "half-close": Behaviour(leaves=True, half_close=True),
        "until-close": Behaviour(size=size, until_close=True),
        "error": Behaviour(status=500),
        "error-trailers": Behaviour(status=500, trailers=TRAILERS),
        "early": Behaviour(status=401, early=True),
        "early-ends": Behaviour(status=401, early=True),
        "early-trailers": Behaviour(status=401, early=True, trailers=TRAILERS),
        "early-large": Behaviour(status=401, early=True, size=2 * size),
        "abandons": Behaviour(status=401, early=True, abandons=True),
        "abandons-large": Behaviour(status=401, early=True, abandons=True, size=size + 1),
        "reset-before": Behaviour(reset="before"),
        "reset-after": Behaviour(reset="after", size=size),
        "reset-half": Behaviour(reset="half", size=size),
        "reset-half-trailers": Behaviour(reset="half", size=size, trailers=TRAILERS),
    }
    for name, length in (
        ("limit-1", size - 1),
        ("limit", size),
        ("limit+1", size + 1),
        ("double", 2 * size),
        ("large", max(3 * size, 200_000)),
    ):
        made[name] = Behaviour(size=length)
        made[f"{name}-chunked"] = Behaviour(size=length, chunked=True)
        made[f"{name}-trailers"] = Behaviour(size=length, trailers=TRAILERS)
    return made


def behaviour_of(size: int, shape: str, *, grpc: bool) -> Behaviour:
    """A shape as it is for a call, or for any other request."""
    behaviour = shapes(size)[shape]
    if not grpc:
        return behaviour
    headers = (*behaviour.headers, ("content-type", "application/grpc"))
    if behaviour.trailers:
        return behaviour.with_changes(headers=headers, trailers=GRPC_TRAILERS)
    return behaviour.with_changes(headers=(*headers, *GRPC_TRAILERS))


def rule(draw: str, status: int) -> dict[str, Any]:
    """What a route injects."""
    return {
        "delay": always(status, HOLD),
        "pass": always(status),
        "forced": always(503, HOLD),
        "forced-large": profile(response(503, HOLD, body=NEW_BODY)),
        "success": profile(response(203, HOLD, body="made\n")),
        "rewritten": always(503, HOLD, override="upstream_response"),
        "rewritten-large": profile(response(503, HOLD, body=NEW_BODY), override="upstream_response"),
        "rewritten-now": always(503, override="upstream_response"),
    }[draw]


def routes() -> list[dict[str, Any]]:
    """Every draw with every way to retry, and one that injects nothing."""
    made = [
        route(f"/{draw}-{status}-{retry}/", rule(draw, status), **RETRIES[retry])
        for draw, status, retry in product(DRAWS, (200, 204, 401, 500), RETRIES)
    ]
    return [*made, route("/plain/")]


GROUPS = tuple(
    Group(version, position, limit, http2)
    for version, position, limit, http2 in product(VERSIONS, POSITIONS, LIMITS, (False, True))
)


def random_cases(group: Group, count: int, rng: random.Random) -> list[Case]:
    """So many cases of a group."""
    names = list(group.shapes)
    chosen: list[Case] = []
    while len(chosen) < count:
        case = Case(
            group, rng.choice(CLIENTS), rng.choice(names), rng.choice(DRAWS), rng.choice(list(RETRIES))
        )
        if case.makes_sense and not case.is_known_to_fail:
            chosen.append(case)
    return chosen


def thorough_cases(group: Group, rng: random.Random) -> Iterator[Case]:
    """Every client with every shape; each such pair meets the draws and retries over the groups."""
    rest = list(product(DRAWS, RETRIES))
    rng.shuffle(rest)
    for number, (client, shape) in enumerate(product(CLIENTS, group.shapes)):
        case = Case(group, client, shape, *rest[number % len(rest)])
        if case.makes_sense and not case.is_known_to_fail:
            yield case
