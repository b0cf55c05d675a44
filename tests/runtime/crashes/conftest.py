"""Fixtures of the tests that try to crash Envoy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import OLDER

pytest.register_assert_rewrite("tests.runtime.crashes.survivors")

from .survivors import POSITIONS, Envoys  # noqa: E402 - once its assertions explain themselves


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the older Envoys the normal run sees the filter in both places, and HTTP/1 upstreams."""
    for item in items:
        if Path(__file__).parent not in item.path.parents or not isinstance(item, pytest.Function):
            continue
        chosen = getattr(item, "callspec", None) and item.callspec.params
        if chosen and chosen.get("version") in OLDER:
            usual = chosen.get("position", "both") == "both" and not chosen.get("to_http2")
            if not usual:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(params=POSITIONS)
def position(request: pytest.FixtureRequest) -> str:
    """Where the filter stands."""
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["to-http1", "to-http2"])
def to_http2(request: pytest.FixtureRequest) -> bool:
    """What the upstream speaks."""
    return bool(request.param)


@pytest.fixture(params=[False, True], ids=["from-http1", "from-http2"])
def from_http2(request: pytest.FixtureRequest) -> bool:
    """What the client speaks."""
    return bool(request.param)


@pytest.fixture(scope="module")
def envoys(version: str) -> Iterator[Envoys]:
    """Envoys of one version, each of them started once for all tests that want its configuration."""
    running = Envoys(version)
    yield running
    running.close()
