"""Reading takes time and memory in proportion to a document's length, whatever it is made of."""

from itertools import pairwise, takewhile

import pytest

from brownout.profile import MAX_DOCUMENT_BYTES, ValidationFailed, load_filter_config, load_route_config
from tests.profile.costs import Reader, peak, plain, seconds
from tests.profile.hostile import KINDS

# Four times the length takes four times as long; a quadratic reader would take sixteen times.
GROWTH = 10
# Beside a plain document of that length; the dearest kind takes twice as long.
TIMES = 5
# Bytes for each byte of a document, and for none. The most hungry kind takes sixty.
MEMORY, BASE = 150, 500_000
LONG_ENOUGH = 0.01  # seconds


def read(data: bytes) -> object:
    load = load_filter_config if data.startswith(b'{"endpoints"') else load_route_config
    try:
        return load(data)
    except ValidationFailed as failed:
        return failed


def climb(kind: str) -> list[bytes]:
    """The kind, longer and longer."""
    sizes = takewhile(lambda size: size < MAX_DOCUMENT_BYTES, (250 * 4**step for step in range(9)))
    return [KINDS[kind](size) for size in sizes]


def check_time(reader: Reader, documents: list[bytes]) -> None:
    """Hold each to the time of a plain document, and the last that is read to the one before."""
    rate = seconds(read, plain(2_000), 3) / 2_000
    for shorter, document in pairwise(documents):
        taken = seconds(reader, document, 2)
        if taken > LONG_ENOUGH and taken > GROWTH * seconds(reader, shorter, 2):
            growth = seconds(reader, document) / seconds(reader, shorter)
            assert growth <= GROWTH, (
                f"{growth:.1f} times as long from {len(shorter)} to {len(document)} bytes"
            )
        most = TIMES * rate * max(len(document), 1_000)
        if taken > most:  # by another process's doing?
            taken = seconds(reader, document)
        assert taken <= most, f"{taken * 1e3:.1f} ms for {len(document)} bytes, at most {most * 1e3:.1f} ms"
        if taken > LONG_ENOUGH:
            return


@pytest.mark.parametrize("kind", KINDS)
def test_time_grows_no_faster_than_the_document(kind: str) -> None:
    check_time(read, climb(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_memory_stays_near_the_size_of_the_document(kind: str) -> None:
    for size in (1_000, 8_000):
        document = KINDS[kind](size)
        assert peak(read, document) <= BASE + MEMORY * len(document)


@pytest.mark.parametrize("power", [2, 3])
def test_the_bound_notices_a_reader_whose_time_grows_faster(power: int) -> None:
    def careless(data: bytes) -> object:
        return sum(1 for _ in range(len(data) ** power // 50_000))

    with pytest.raises(AssertionError, match="bytes"):
        check_time(careless, [b"x" * 250 * 4**step for step in range(6)])
