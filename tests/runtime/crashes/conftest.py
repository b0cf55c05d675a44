"""Fixtures of the tests that try to crash Envoy."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.runtime.crashes.survivors")

from .survivors import POSITIONS, Envoys  # noqa: E402 - once its assertions explain themselves


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
