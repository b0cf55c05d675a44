"""Sets of resources: versions, differences, sharing."""

import gc
import weakref

from xds_server.resource_set import EMPTY, Resource, ResourceSet


def _set(**contents: str) -> ResourceSet:
    return ResourceSet(Resource.of(name, content.encode()) for name, content in contents.items())


def test_versions_come_from_content() -> None:
    """Equal content has equal versions, in whatever order it comes; other content another one."""
    assert _set(a="1", b="2").version == _set(b="2", a="1").version
    versions = {each.version for each in (EMPTY, _set(a="1"), _set(a="2"), _set(b="1"), _set(a="1", b="1"))}
    assert len(versions) == 5


def test_versions_are_those_of_another_process() -> None:
    """A version depends on nothing but the content."""
    assert Resource.of("a", b"content").version == Resource.of("b", b"content").version


def test_changes() -> None:
    """A difference names what is new or other, and what is gone."""
    old, new = _set(a="1", b="2", c="3"), _set(a="1", b="x", d="4")
    changes = new.changes_since(old)
    assert (sorted(changes.changed), sorted(changes.removed)) == (["b", "d"], ["c"])
    assert not new.changes_since(new)
    assert not _set(a="1").changes_since(_set(a="1"))
    assert new.changes_since(old) is changes


def test_select() -> None:
    """A part of a set is one object for all who want the same part; all of it is the set itself."""
    whole = _set(a="1", b="2", c="3")
    part = whole.select(frozenset({"a", "z"}))
    assert part.names == {"a"}
    assert whole.select(frozenset({"a", "z"})) is part
    assert whole.select(frozenset("abcd")) is whole
    assert part.version == _set(a="1").version


def test_retaining() -> None:
    """What only the older set has can be kept."""
    old, new = _set(a="1", b="2"), _set(b="3")
    both = new.retaining(old)
    assert both.names == {"a", "b"}
    assert both["b"] is new["b"]
    assert new.retaining(old) is both
    assert old.retaining(EMPTY) is old


def test_old_sets_are_let_go() -> None:
    """A set does not keep alive those that it was compared with."""
    new = _set(b="3")
    old = _set(a="1")
    new.changes_since(old)
    new.retaining(old)
    gone = weakref.ref(old)
    del old
    gc.collect()
    assert gone() is None


def test_memory_of_derived_bytes_is_bounded() -> None:
    """Whoever asks for ever other parts does not fill the memory."""
    whole = _set(a="1", b="2")
    for index in range(5000):
        whole.select(frozenset({"a", f"x{index}"}))
    assert len(whole._memo) <= 256
