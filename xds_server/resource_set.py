"""Named, versioned, serialised resources of one type: immutable, and shared by all streams that have them."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")

_MEMO_LIMIT = 256
NO_NAMES: Final[frozenset[str]] = frozenset()


def digest(data: bytes) -> str:
    """Return the version of a content: 16 hexadecimal digits, the same in every process."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it goes over the wire.

    Attributes:
        name: Its name.
        version: The hash of its content.
        body: The serialised `google.protobuf.Any`.
    """

    name: str
    version: str
    body: bytes

    @classmethod
    def of(cls, name: str, body: bytes) -> "Resource":
        """Make one, with the version that its content has."""
        return cls(name, digest(body), body)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different in a newer set: names that are new or have another version, and those gone."""

    changed: frozenset[str]
    removed: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


NO_CHANGES: Final = Changes(NO_NAMES, NO_NAMES)


class ResourceSet:
    """Resources by name.

    Whatever is derived from a set (a part of it, its difference to another, the bytes of a response) is
    computed once and kept with it, so that a thousand streams that make the same step cost one computation.
    What refers to an older set is kept only as long as somebody has that.
    """

    __slots__ = ("__weakref__", "_by_name", "_differences", "_memo", "_names", "_unions", "_version")

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._by_name: Mapping[str, Resource] = {each.name: each for each in resources}
        self._names: frozenset[str] | None = None
        self._version: str | None = None
        self._memo: dict[object, object] = {}
        self._differences: WeakKeyDictionary[ResourceSet, Changes] = WeakKeyDictionary()
        self._unions: WeakKeyDictionary[ResourceSet, ResourceSet] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Resource:
        return self._by_name[name]

    def get(self, name: str) -> Resource | None:
        """Return a resource, or None when there is none of that name."""
        return self._by_name.get(name)

    @property
    def names(self) -> frozenset[str]:
        """The names of all."""
        if self._names is None:
            self._names = frozenset(self._by_name)
        return self._names

    @property
    def version(self) -> str:
        """The hash of the names and versions."""
        if self._version is None:
            pairs = sorted((each.name, each.version) for each in self._by_name.values())
            self._version = digest("".join(f"{name}\0{version}\0" for name, version in pairs).encode())
        return self._version

    def pick(self, names: frozenset[str]) -> list[Resource]:
        """Return those that exist of `names`, in the set's order."""
        if len(names) < len(self._by_name) // 8:
            return [self._by_name[name] for name in sorted(names) if name in self._by_name]
        return [each for name, each in self._by_name.items() if name in names]

    def select(self, names: frozenset[str]) -> "ResourceSet":
        """Return the set of those that exist of `names`."""
        part = self.memo(("select", names), lambda: self._part(names))
        return self if part is None else part

    def _part(self, names: frozenset[str]) -> "ResourceSet | None":
        # None stands for the whole set, which must not refer to itself: it would outlive its last stream.
        return None if names >= self.names else ResourceSet(self.pick(names))

    def changes_since(self, older: "ResourceSet") -> Changes:
        """Return how this set differs from `older`."""
        if older is self:
            return NO_CHANGES
        found = self._differences.get(older)
        if found is None:
            mine, theirs = self._by_name, older._by_name  # noqa: SLF001 (its own kind)
            changed = (
                name
                for name, each in mine.items()
                if (had := theirs.get(name)) is not each and (had is None or had.version != each.version)
            )
            found = Changes(frozenset(changed), frozenset(name for name in theirs if name not in mine))
            self._differences[older] = found
        return found

    def retaining(self, older: "ResourceSet") -> "ResourceSet":
        """Return this set together with what only `older` has."""
        removed = self.changes_since(older).removed
        if not removed:
            return self
        found = self._unions.get(older)
        if found is None:
            found = ResourceSet((*self._by_name.values(), *older.pick(removed)))
            self._unions[older] = found
        return found

    def memo(self, key: object, make: Callable[[], V]) -> V:
        """Return what `make` returns, computed once for `key` (bounded: the oldest are forgotten)."""
        try:
            return self._memo[key]  # type: ignore[return-value]  # one key, one type
        except KeyError:
            pass
        while len(self._memo) >= _MEMO_LIMIT:
            del self._memo[next(iter(self._memo))]
        value = self._memo[key] = make()
        return value


EMPTY: Final = ResourceSet()
