"""A server for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.serving import RestServer


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestServer]:
    with RestServer(tmp_path) as server:
        yield server
