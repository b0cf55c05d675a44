"""Latency distributions: percentiles and their durations."""

import re
from decimal import Decimal

from brownout.profile.durations import format_duration
from brownout.profile.errors import quoted
from brownout.profile.model import Model
from brownout.profile.reading import Value
from brownout.profile.scalars import duration

_KEY = re.compile(r"p([0-9]+(?:\.[0-9]+)?)")
_LONGEST_KEY = 64
_EXPECTED = 'expected a percentile from "p0" to "p100", like "p50" or "p99.9"'


class Distribution(Model):
    """A distribution by some of its quantiles.

    `points` are (quantile from 0 to 1, nanoseconds), ascending; durations never decrease. Between two points
    the duration is linear in the quantile.
    """

    points: tuple[tuple[float, int], ...]


def parse_percentile(key: str) -> float:
    """Return the quantile from 0 to 1 that a key like `p99.9` names, correctly rounded.

    Raises:
        ValueError: It is not `p` and a plain decimal number from 0 to 100.
    """
    match = _KEY.fullmatch(key) if len(key) <= _LONGEST_KEY else None
    if match is None or Decimal(match[1]) > 100:
        raise ValueError(f"{_EXPECTED}, found {quoted(key)}")
    return float(match[1] + "e-2")


def format_percentile(quantile: float) -> str:
    """Return the shortest key that `parse_percentile` reads as `quantile`."""
    text = f"{Decimal(repr(quantile)).scaleb(2):f}"
    return "p" + (text.rstrip("0").rstrip(".") if "." in text else text)


def read_distribution(value: Value) -> Distribution | None:
    """Read a mapping of percentiles to durations."""
    entries = value.entries('a mapping of percentiles to durations, like {"p50": "20ms", "p99": "80ms"}')
    if entries is None:
        return None
    if not entries:
        value.fail("expected at least one percentile, found an empty mapping")
        return None
    keys: dict[float, str] = {}
    points: dict[float, tuple[int, Value]] = {}
    for key, child in entries:
        nanoseconds = duration(child)
        try:
            quantile = parse_percentile(key)
        except ValueError as error:
            child.fail(str(error))
            continue
        if quantile in keys:
            child.fail(f"{key} and {keys[quantile]} are the same percentile")
            continue
        keys[quantile] = key
        if nanoseconds is not None:
            points[quantile] = (nanoseconds, child)
    ascending = sorted(points.items())
    longest, longest_key = 0, ""
    for quantile, (nanoseconds, child) in ascending:
        if nanoseconds < longest:
            child.fail(
                f"expected at least {format_duration(longest)}, the duration of {longest_key}, "
                f"found {format_duration(nanoseconds)}"
            )
        else:
            longest, longest_key = nanoseconds, keys[quantile]
    return Distribution(points=tuple((quantile, nanoseconds) for quantile, (nanoseconds, _) in ascending))


def dump_distribution(distribution: Distribution) -> dict[str, str]:
    """Return the mapping that `read_distribution` reads as `distribution`."""
    return {format_percentile(quantile): format_duration(ns) for quantile, ns in distribution.points}
