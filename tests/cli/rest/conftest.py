"""A server, and the command line that talks to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.serving import RestServer
from tests.cli.rest.commands import Cli


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestServer]:
    """A server of the test's own, with an empty store."""
    with RestServer(tmp_path) as server:
        yield server


@pytest.fixture
def cli(rest: RestServer) -> Cli:
    """The command line, told of the server by the environment."""
    return Cli(rest.url)
