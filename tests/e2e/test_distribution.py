"""What clients get over many requests is what was configured."""

from pathlib import Path

import numpy as np
from scipy import stats

from brownout.profile import parse_duration
from tests.e2e.stack import endpoint, running
from tests.support.load import get_many

REQUESTS = 10_000
BAND = 0.999
DISTRIBUTIONS = {
    200: {"p0": "1ms", "p50": "4ms", "p90": "10ms", "p100": "40ms"},
    503: {"p0": "10ms", "p50": "12ms", "p100": "30ms"},
}
WEIGHTS = {200: 900, 503: 100}
SPEC = {
    "responses": [
        {"status": status, "resolution": WEIGHTS[status], "distribution": distribution}
        for status, distribution in DISTRIBUTIONS.items()
    ]
}


async def test_shares_and_quantiles(tmp_path: Path) -> None:
    """Over 10,000 requests the shares of 200 and 503, and their quantiles, are within 99.9 % bands."""
    with running(tmp_path, profiles={"pay": SPEC}, endpoints=[endpoint("pay", "/pay", "pay")]) as stack:
        answers = await get_many(stack.address, "/pay", REQUESTS, at_once=24)
    assert {answer.status for answer in answers} == {200, 503}
    lowest, highest = stats.binom.interval(BAND, REQUESTS, 0.9)
    assert lowest <= sum(answer.status == 200 for answer in answers) <= highest
    for status, distribution in DISTRIBUTIONS.items():
        seen = [answer for answer in answers if answer.status == status]
        targets = np.array([parse_duration(answer.headers["x-fault-injected-delay"]) for answer in seen])
        assert all(answer.seconds * 1e9 >= target for answer, target in zip(seen, targets, strict=True))
        for key, value in distribution.items():
            below = int((targets <= parse_duration(value)).sum())
            lowest, highest = stats.binom.interval(BAND, len(seen), float(key.removeprefix("p")) / 100)
            assert lowest <= below <= highest, (status, key)
