"""Points in time as RFC 3339 writes them."""

import re
from datetime import UTC, datetime

from brownout.profile.errors import quoted

_RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-][0-9]{2}:[0-9]{2}))"
)
# What 64 bits of nanoseconds since 1970 can say, as the filter counts: 1677-09-21 to 2262-04-11.
FIRST_YEAR, LAST_YEAR = 1678, 2261
_EXPECTED = 'expected a time with an offset (RFC 3339), like "2030-01-31T18:00:00Z"'


def parse_timestamp(text: str) -> datetime:
    """Return the time in UTC, to the microsecond (further digits are cut off).

    Raises:
        ValueError: It is no RFC 3339 time, has no offset, does not exist, or is too early or too late.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{_EXPECTED}, found {quoted(text)}")
    date, time, fraction, offset = match.groups()
    try:
        moment = datetime.fromisoformat(
            f"{date}T{time}.{(fraction or '')[:6]:0<6}{offset or '+00:00'}"
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{_EXPECTED}, found {quoted(text)}: there is no such time") from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"expected a time of the years {FIRST_YEAR} to {LAST_YEAR}, found {quoted(text)}")
    return moment


def format_timestamp(moment: datetime) -> str:
    """Return an aware `moment` in UTC, with a fraction only where there is one."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
