"""Fixtures of the tests that drive the module in a real Envoy."""

import pytest

from tests.support import OLDER, REFERENCE


@pytest.fixture(scope="module", params=[REFERENCE, *OLDER])
def version(request: pytest.FixtureRequest) -> str:
    """Each Envoy that the one build must serve."""
    return str(request.param)
