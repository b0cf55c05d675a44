"""What the upstream of the soak is to do with a request: the client says it, in the request's query."""

import random
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

MOST = 3_000_000
_FILLER = b"0123456789abcdef" * (MOST // 16 + 1)
_LIMITS = (1024, 16_384, 32_768, 65_536)
# Mostly small; then around each limit of a buffer or window; now and then beyond all of them.
_SMALL = (0, 1, 3, 5, 200, 1000)
_AROUND = (5000, 18_000, 28_000, 100_000, *(limit + more for limit in _LIMITS for more in (-1, 0, 1)))
_HUGE = (1_048_575, 1_048_576, 1_048_577, MOST)
_HEADS = (6000, 20_000, 33_000)
_TAILS = (20, 20, 20, 5000)
_PAUSES = (1, 3, 10, 30)
ENDINGS = ("cut-before", "cut-head", "cut-body", "goaway", "close")


@dataclass(frozen=True)
class Shape:
    """A response of the upstream. Times are milliseconds, sizes bytes.

    Attributes:
        status: the status.
        size: of the body.
        head: size of one more header.
        tail: size of the trailers; 0: none.
        delay: before the headers.
        pause: between the pieces of the body, and before the first.
        pieces: of the body.
        chunked: no content-length.
        hints: a 103 before it.
        early: does not wait for the end of the request's body.
        end: empty, or what happens to it or after it: the stream or connection is cut before or after the
            headers or within the body (`cut-…`), a `goaway` goes along (HTTP/2), the connection is closed
            (`close`), or a complete early answer is followed by a reset without an error (`rst`, HTTP/2).
        to: location of a redirect.
    """

    status: int = 200
    size: int = 3
    head: int = 0
    tail: int = 0
    delay: int = 0
    pause: int = 0
    pieces: int = 1
    chunked: int = 0
    hints: int = 0
    early: int = 0
    end: str = ""
    to: str = ""

    @classmethod
    def parse(cls, target: str) -> Self:
        """Read it from a request's target."""
        given: dict[str, Any] = dict(parse_qsl(target.partition("?")[2]))
        for name in given.keys() - {"end", "to"}:
            given[name] = int(given[name])
        return cls(**given)

    @cached_property
    def query(self) -> str:
        """The query that says it."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return urlencode({name: value for name, value in said.items() if value != getattr(Shape, name)})

    @property
    def body(self) -> bytes:
        """The whole body."""
        return _FILLER[: self.size]


# What a buffer's limit is crossed by: headers alone, a body before trailers, both together.
_HARD: tuple[dict[str, Any], ...] = (
    {"head": 33_000, "size": 2},
    {"size": 18_000, "tail": 20},
    {"head": 6000, "size": 28_000, "tail": 20},
    {"size": 100_000},
)


def hard_shape(rng: random.Random) -> Shape:
    """Draw one that crosses the limit of some listener."""
    return Shape(**rng.choice(_HARD), chunked=rng.choice((0, 1)))


def _size(rng: random.Random) -> int:
    chance = rng.random()
    if chance < 0.01:
        return rng.choice(_HUGE)
    return rng.choice(_AROUND if chance < 0.35 else _SMALL)


def random_shape(rng: random.Random, *, rough: bool, upload: bool) -> Shape:
    """Draw one.

    Args:
        rng: decides.
        rough: whether it may break off.
        upload: whether the request has a body, which an early answer does not wait for.
    """

    def seldom(probability: float, *values: int) -> int:
        return rng.choice(values) if rng.random() < probability else 0

    early = seldom(0.5, 1) if upload else 0
    status = rng.choice((204, 304, 404, 503, 500)) if rng.random() < 0.1 else 200
    size = 0 if status in {204, 304} else _size(rng)
    ends = rough and rng.random() < 0.3
    return Shape(
        status=status,
        size=size,
        head=seldom(0.05, *_HEADS),
        tail=seldom(0.3, *_TAILS) if size else 0,
        delay=seldom(0.2, *_PAUSES),
        pause=seldom(0.2, *_PAUSES),
        pieces=1 + seldom(0.2, 1, 3),
        chunked=seldom(0.2, 1),
        hints=seldom(0.03, 1),
        early=early,
        end=rng.choice(ENDINGS) if ends else "rst" if early and rng.random() < 0.3 else "",
    )
