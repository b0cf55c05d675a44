"""Servers for the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.serving import RestServer


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestServer]:
    """A server of the test's own, with an empty store."""
    with RestServer(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """A server for all tests of a module, which leave nothing behind that disturbs others."""
    with RestServer(tmp_path_factory.mktemp("shared")) as server:
        yield server
