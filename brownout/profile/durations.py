"""Durations as Go writes them (`time.ParseDuration`, `time.Duration.String`), in whole nanoseconds."""

import re

from brownout.profile.errors import quoted

MAX_DURATION = 2**63 - 1
"""The longest duration in nanoseconds: Go's, about 292 years."""

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_EXPECTED = 'expected a duration like "52.3ms", "1.5s" or "1h2m3s"'


def parse_duration(text: str) -> int:
    """Return the nanoseconds that `text` stands for, exactly as Go's `time.ParseDuration` counts them.

    Raises:
        ValueError: It is no duration, negative, or longer than 2^63-1 ns.
    """
    rest = text.removeprefix("+")
    if rest.startswith("-"):
        raise ValueError(f"{_EXPECTED}, never negative, found {quoted(text)}")
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"{_EXPECTED}, found {quoted(text)}")
    total = 0
    for term in _TERM.finditer(rest):
        if term.start() == len(rest):
            break
        total += _term(term, text)
        if total > MAX_DURATION:
            raise _too_long(text)
    return total


def _term(term: re.Match[str], text: str) -> int:
    whole, fraction, unit = term.groups()
    if not whole and not fraction:
        raise ValueError(f"{_EXPECTED}, found {quoted(text)}")
    if not unit:
        raise ValueError(f"{_EXPECTED}: the unit is missing (ns, us, ms, s, m, h), found {quoted(text)}")
    scale = _UNITS.get(unit)
    if scale is None:
        raise ValueError(f"{_EXPECTED}: the units are ns, us, ms, s, m, h, found {quoted(text)}")
    digits = whole.lstrip("0")
    if len(digits) > len(str(MAX_DURATION)):
        raise _too_long(text)
    nanoseconds = int(digits or "0") * scale
    return nanoseconds + _fraction(fraction, scale) if fraction else nanoseconds


def _fraction(digits: str, unit: int) -> int:
    """Count as Go does: digits beyond 63 bits are ignored, the product is a double, the result truncated."""
    value, scale = 0, 1.0
    for digit in digits:
        longer = value * 10 + int(digit)
        if value > MAX_DURATION // 10 or longer > MAX_DURATION + 1:
            break
        value = longer
        scale *= 10.0
    return int(float(value) * (unit / scale))


def _too_long(text: str) -> ValueError:
    return ValueError(f"expected a duration of at most {format_duration(MAX_DURATION)}, found {quoted(text)}")


def format_duration(ns: int) -> str:
    """Return `ns` nanoseconds exactly as Go's `time.Duration.String` prints them (`52.3ms`, `1m0s`, `0s`)."""
    if ns < 0:
        return "-" + format_duration(-ns)
    if ns < 1_000:
        return f"{ns}ns" if ns else "0s"
    if ns < 1_000_000:
        return _decimal(ns, 3) + "\u00b5s"
    if ns < 1_000_000_000:
        return _decimal(ns, 6) + "ms"
    minutes, ns = divmod(ns, 60_000_000_000)
    seconds = _decimal(ns, 9) + "s"
    if not minutes:
        return seconds
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}"


def _decimal(value: int, places: int) -> str:
    whole, fraction = divmod(value, 10**places)
    return f"{whole}.{fraction:0{places}}".rstrip("0").rstrip(".") if fraction else str(whole)
