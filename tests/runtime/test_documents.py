"""The pages about the filter say what is true: every statistic and every header."""

import re
from pathlib import Path

from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap

from .profiles import FAULT_HEADERS, always

DOCS = Path(__file__).parents[2] / "docs"


def test_every_statistic_is_documented() -> None:
    """The page names all that a real Envoy has, and nothing else."""
    page = (DOCS / "reference" / "statistics.md").read_text()
    rows = re.findall(r"^\| (`.*?) \| (?:counter|gauge|histogram) \|", page, re.MULTILINE)
    documented = {re.sub(r"_[2-5]xx$", "", name) for row in rows for name in re.findall(r"`(\w+)`", row)}
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", always(200, "1ms"))])) as envoy,
    ):
        exchange(envoy.address())
        found = set(re.findall(r"^cluster\.upstream\.brownout\.(\w+):", envoy.admin("/stats"), re.MULTILINE))
    assert {re.sub(r"_[2-5]xx$", "", name) for name in found} == documented


def test_every_header_is_documented() -> None:
    """The table has the headers in their order, and the span's attributes are named."""
    page = (DOCS / "reference" / "headers.md").read_text()
    table, _, rest = page.partition("## On the span")
    assert tuple(re.findall(r"^\| `(x-fault-[\w-]+)` \|", table, re.MULTILINE)) == FAULT_HEADERS
    for header in FAULT_HEADERS:
        assert f"`fault.{header.removeprefix('x-fault-')}`" in rest
