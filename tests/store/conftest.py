from collections.abc import Iterator

import pytest

from brownout.store import Store


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An open store, on either database."""
    with Store(database) as store:
        yield store
