"""Reading parsed documents strictly: no coercion, no unknown field, every finding at once with its path."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NoReturn, TypeVar

from brownout.profile.errors import FieldError, Key, ValidationFailed, found, join_path, quoted

T = TypeVar("T")

MAX_FINDINGS = 1_000
"""So many findings are listed; a document with more is not read further."""

MAX_DEPTH = 64
"""So deeply may mappings and lists be nested."""

_SUGGESTIONS = 20  # a suggestion costs a comparison with every known field


class Refused:
    """Stands in a document for a value that no document may hold: the finding has been noted."""


class Findings:
    """The findings of one document, in the order of reading.

    Args:
        prefix: What every path begins with.
        from_envoy: The document may have been a Struct in Envoy's own YAML, whose reader makes strings of
            numbers with a fraction and of integers beyond 32 bits; such strings are then read as numbers.
    """

    def __init__(self, prefix: str = "", *, from_envoy: bool = False) -> None:
        self.from_envoy = from_envoy
        self._prefix = prefix
        # Aliases lead to one place by several paths and merge keys to several by one: none is listed twice.
        self._errors: dict[FieldError, None] = {}

    def __len__(self) -> int:
        return len(self._errors)

    def add(self, keys: Iterable[Key], message: str) -> None:
        """Note what is wrong at `keys`.

        Raises:
            ValidationFailed: There are too many findings to go on.
        """
        self._errors[FieldError(join_path(self._prefix, keys), message)] = None
        if len(self._errors) >= MAX_FINDINGS:
            self.stop(f"only the first {MAX_FINDINGS} errors are listed")

    def stop(self, message: str) -> NoReturn:
        """Refuse the document as a whole.

        Raises:
            ValidationFailed: This, and what was found before.
        """
        raise ValidationFailed([*self._errors, FieldError(self._prefix, message)])

    def stop_too_deep(self) -> NoReturn:
        """Refuse the document because of its nesting."""
        self.stop(f"expected at most {MAX_DEPTH} levels of nesting, found more")

    def check(self) -> None:
        """Raise ValidationFailed if there is any finding."""
        if self._errors:
            raise ValidationFailed(self._errors)


class Value:
    """A value of a document and its place; what is wrong with it goes to the document's findings.

    Whatever reads a value returns None after a finding; null is never a valid value.
    """

    __slots__ = ("findings", "key", "parent", "raw")

    def __init__(
        self, raw: object, findings: Findings, parent: "Value | None" = None, key: Key | None = None
    ) -> None:
        self.raw = raw
        self.findings = findings
        self.parent = parent
        self.key = key

    @property
    def keys(self) -> list[Key]:
        """The way from the document's root."""
        keys: list[Key] = []
        here: Value | None = self
        while here is not None and here.key is not None:
            keys.append(here.key)
            here = here.parent
        keys.reverse()
        return keys

    def child(self, key: Key, raw: object = None) -> "Value":
        """Return the place below this one, and what stands there."""
        return Value(raw, self.findings, self, key)

    def fail(self, message: str) -> None:
        """Note that something is wrong here."""
        self.findings.add(self.keys, message)

    def expected(self, what: str) -> None:
        """Note what was expected here, and what was found (unless that is noted already)."""
        if not isinstance(self.raw, Refused):
            self.findings.add(self.keys, f"expected {what}, found {found(self.raw)}")

    def entries(self, expected: str) -> "list[tuple[str, Value]] | None":
        """Return the keys and values of a mapping, without those whose key is no string."""
        if not isinstance(self.raw, dict | Mapping):
            self.expected(expected)
            return None
        entries = []
        for key, raw in self.raw.items():
            if isinstance(key, str):
                entries.append((key, self.child(key, raw)))
            else:
                self.fail(f"expected strings as keys, found {found(key)}")
        return entries

    def each(self, read: "Callable[[Value], T | None]") -> tuple[T, ...] | None:
        """Return the items of a list as `read` returns them; None, after reading all, if any is wrong."""
        if not isinstance(self.raw, list | tuple):
            self.expected("a list")
            return None
        results = [read(self.child(index, raw)) for index, raw in enumerate(self.raw)]
        right = tuple(result for result in results if result is not None)
        return right if len(right) == len(results) else None


class Fields:
    """The fields of a mapping, all of them known."""

    __slots__ = ("_fields", "_value")

    def __init__(self, value: Value, fields: dict[str, Value]) -> None:
        self._value = value
        self._fields = fields

    @classmethod
    def of(
        cls, value: Value, known: Collection[str], misplaced: Mapping[str, str] | None = None
    ) -> "Fields | None":
        """Return the fields of the mapping at `value`; unknown ones are findings.

        Args:
            value: Where the mapping is expected.
            known: The names in the order in which a message lists them.
            misplaced: What to say of fields that belong elsewhere.
        """
        entries = value.entries(f"a mapping with {', '.join(known)}")
        if entries is None:
            return None
        fields = {}
        for name, child in entries:
            if name in known:
                fields[name] = child
            elif misplaced and name in misplaced:
                child.fail(misplaced[name])
            else:
                child.fail(_unknown(name, known, suggest=len(value.findings) < _SUGGESTIONS))
        return cls(value, fields)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def required(self, name: str, read: Callable[[Value], T | None]) -> T | None:
        """Return the field as `read` returns it; a finding if it is missing."""
        child = self._fields.get(name)
        if child is None:
            self._value.child(name).fail("is required")
            return None
        return read(child)

    def optional(self, name: str, read: Callable[[Value], T | None]) -> T | None:
        """Return the field as `read` returns it, None if it is missing."""
        child = self._fields.get(name)
        return None if child is None else read(child)

    def defaulted(self, name: str, read: Callable[[Value], T | None], default: T) -> T:
        """Return the field as `read` returns it, `default` if it is missing (or wrong)."""
        result = self.optional(name, read)
        return default if result is None else result

    def only(self, name: str) -> bool:
        """Tell whether `name` is the only field."""
        return name in self._fields and len(self._fields) == 1

    def refuse(self, name: str, message: str) -> None:
        """Note that the field, if it is given, must not be."""
        if name in self._fields:
            self._fields[name].fail(message)

    def one_of(self, *names: str) -> None:
        """Make sure that exactly one of `names` is given."""
        given = [name for name in names if name in self._fields]
        if len(given) != 1:
            listed = f"found {' and '.join(given)}" if given else "found none of them"
            self._value.fail(f"exactly one of {', '.join(names)} is required, {listed}")


def _unknown(name: str, known: Collection[str], *, suggest: bool) -> str:
    message = f"unknown field; known fields: {', '.join(known)}"
    if suggest:
        from difflib import get_close_matches  # noqa: PLC0415 (only a refused document needs it)

        near = get_close_matches(name[:64].lower(), known, n=1)
        if near:
            message += f" (did you mean {quoted(near[0])}?)"
    return message
