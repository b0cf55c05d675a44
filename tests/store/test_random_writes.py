"""Whatever is written, in whatever order: memory, rows and revisions tell the same."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brownout.domain import BrownoutError, Catalog, Draft, ValidationFailed
from brownout.service import edits
from brownout.store import Store
from migrations import migrate
from tests.store.samples import endpoint, fleet, profile, upstream

Command = Callable[[Draft], object]

names = st.sampled_from(["a", "b", "c"])
percents = st.none() | st.integers(0, 3)


def put_profile(name: str, description: str) -> Command:
    return lambda draft: edits.put(draft, name, profile(name, description=description))


def put_upstream(name: str, port: int) -> Command:
    return lambda draft: edits.put(draft, name, upstream(name, port))


def put_fleet(name: str) -> Command:
    return lambda draft: edits.put(draft, name, fleet(name))


def put_endpoint(place: str, name: str, to: str, percent: int | None) -> Command:
    def command(draft: Draft) -> object:
        edits.fleet_of(draft, place)
        if to not in draft.catalog.upstreams or (
            percent is not None and "slow" not in draft.catalog.profiles
        ):
            return None
        return edits.put(draft, f"{place}/{name}", endpoint(name, percent=percent, upstream=to))

    return command


def delete(kind: str, name: str, place: str) -> Command:
    match kind:
        case "profile":
            return lambda draft: edits.delete(draft, "profile", name)
        case "upstream":
            return lambda draft: edits.delete(draft, "upstream", name)
        case "fleet":
            return lambda draft: edits.delete(draft, "fleet", name)
        case _:
            return lambda draft: edits.delete(draft, "endpoint", f"{place}/{name}")


def reverse(place: str) -> Command:
    return lambda draft: draft.order(
        place, [each.entity.name for each in draft.catalog.endpoints(place)][::-1]
    )


def halt(key: str, *, on: bool) -> Command:
    return lambda draft: draft.halt(key, on=on)


commands = st.one_of(
    st.builds(put_profile, st.sampled_from(["slow", "b"]), st.sampled_from(["", "x"])),
    st.builds(put_upstream, names, st.integers(1, 2)),
    st.builds(put_fleet, names),
    st.builds(put_endpoint, names, names, names, percents),
    st.builds(put_endpoint, names, names, names, percents),
    st.builds(delete, st.sampled_from(["profile", "upstream", "fleet", "endpoint"]), names, names),
    st.builds(reverse, names),
    st.builds(halt, names | st.just("*"), on=st.booleans()),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(commands, min_size=1, max_size=4), max_size=12))
def test_memory_rows_and_revisions_agree(transactions: list[list[Command]]) -> None:
    """Also when some commands are refused: their whole transaction leaves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "brownout.db")
        migrate(url)
        with Store(url) as store:
            for transaction in transactions:

                def command(draft: Draft, steps: list[Command] = transaction) -> None:
                    for step in steps:
                        step(draft)

                before = store.catalog
                try:
                    store.write(command, actor="ann")
                except (BrownoutError, ValidationFailed):
                    assert store.catalog is before
            written = store.catalog
            assert store.load() == written
            replayed = Catalog()
            for revision in reversed(store.history.list(limit=1000)):
                replayed = replayed.apply(revision)
            assert replayed == written
