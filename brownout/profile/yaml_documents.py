"""YAML 1.2 documents as plain values, with aliases and merge keys.

The parser's events are composed here and not by the library: only so have duplicate keys a path, aliases a
budget, and scalars the meaning of YAML 1.2.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from brownout.profile.errors import Key, found, quoted
from brownout.profile.reading import MAX_DEPTH, Findings, Refused
from brownout.profile.yaml_scalars import scalar
from brownout.profile.yaml_scanner import TooDeep, yaml_parser

_MERGE_KEY = "<<"
_LONGEST_PROBLEM = 200  # the parser quotes some parts of a document in full
_TAGS = {
    MappingStartEvent: (None, "!", "tag:yaml.org,2002:map"),
    SequenceStartEvent: (None, "!", "tag:yaml.org,2002:seq"),
}


class _Anchored(NamedTuple):
    """A value that aliases can name, and what each of them adds to the document when it is written out."""

    value: object
    values: int
    characters: int
    height: int  # levels of nesting, none in a scalar


class _Open:
    """A collection that has begun and not ended."""

    __slots__ = ("anchor", "before", "height", "key", "merged", "next", "value")

    def __init__(self, event: CollectionStartEvent, before: tuple[int, int]) -> None:
        self.value: dict[str, object] | list[object] = {} if isinstance(event, MappingStartEvent) else []
        self.anchor: str | None = event.anchor
        self.before = before
        self.height = 1
        self.merged: list[dict[str, object]] | None = None
        self.key: str | None = None
        self.next: Literal["item", "key", "value", "merged", "ignored"] = (
            "key" if isinstance(event, MappingStartEvent) else "item"
        )

    @property
    def steps(self) -> list[Key]:
        """The step from here to what comes next; keys have the path of their mapping."""
        if isinstance(self.value, list):
            return [len(self.value)]
        return [] if self.key is None else [self.key]


def parse_yaml(text: str, findings: Findings, max_bytes: int) -> object:
    """Return the value of a YAML text.

    Duplicate keys, keys that are no strings, unknown tags and scalars that no document may hold are findings.

    Args:
        text: The document.
        findings: Where they go.
        max_bytes: So long may the document be when its aliases are written out.

    Raises:
        ValidationFailed: It is not one well-formed document, is nested too deeply, refers to itself, expands
            too far, or has too many findings.
    """
    composer = _Composer(findings, max_bytes)
    for event in _events(text, findings):
        composer.take(event)
    return composer.result()


def _events(text: str, findings: Findings) -> Iterator[Event]:
    try:
        yield from yaml_parser().parse(text)
    except TooDeep:
        findings.stop_too_deep()
    except MarkedYAMLError as error:
        findings.stop(_at(error.problem_mark, str(error.problem or error.context)[:_LONGEST_PROBLEM]))
    except ReaderError as error:
        findings.stop(f"the character U+{error.character:04X} is not allowed")
    except Exception as error:  # noqa: BLE001 (malformed texts run into mistakes of the parser, of any kind)
        findings.stop(f"expected YAML, found what its parser cannot read ({type(error).__name__})")


def _at(mark: Any, message: str) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: {message}" if mark else message


class _Composer:
    """Makes plain values of a parser's events."""

    def __init__(self, findings: Findings, max_bytes: int) -> None:
        self._findings = findings
        self._max_bytes = max_bytes
        self._values = 0
        self._characters = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._roots: list[object] = []

    def result(self) -> object:
        if not self._roots:
            self._findings.stop("expected a document, found nothing")
        return self._roots[0]

    def take(self, event: Event) -> None:
        if isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, CollectionEndEvent):
            self._end()
        elif isinstance(event, AliasEvent):
            self._alias(event)
        elif isinstance(event, DocumentStartEvent):
            if self._roots:
                self._findings.stop(_at(event.start_mark, "expected one document, found a second"))
            if event.version not in (None, (1, 2)):
                self._findings.stop(_at(event.start_mark, "expected YAML 1.2, found another version"))

    def _scalar(self, event: ScalarEvent) -> None:
        text: str = event.value
        is_key = self._next_is_key()
        self._grow(0 if is_key else 1, len(text))
        plain = event.style is None
        try:
            value = scalar(text, event.tag, plain=plain)
        except ValueError as error:
            self._note(str(error))
            value = Refused()
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, len(text), 0)
        if is_key:
            self._key(value, merges=plain and text == _MERGE_KEY)
        else:
            self._place(value)

    def _begin(self, event: CollectionStartEvent) -> None:
        if len(self._open) == MAX_DEPTH:
            self._findings.stop_too_deep()
        if event.tag not in _TAGS[type(event)]:
            self._note(f"expected a value without a tag, found {quoted(str(event.tag))}")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(event, (self._values, self._characters)))
        self._grow(1, 0)

    def _end(self) -> None:
        ended = self._open.pop()
        if isinstance(ended.value, dict):
            for source in ended.merged or ():
                for key, value in source.items():
                    ended.value.setdefault(key, value)
        if ended.anchor is not None:
            values, characters = ended.before
            self._anchors[ended.anchor] = _Anchored(
                ended.value, self._values - values, self._characters - characters, ended.height
            )
        self._place(ended.value, ended.height)

    def _alias(self, event: AliasEvent) -> None:
        if event.anchor not in self._anchors:
            self._findings.stop(
                _at(event.start_mark, f"found no anchor for the alias {quoted(event.anchor)}")
            )
        anchored = self._anchors[event.anchor]
        if anchored is None:
            self._findings.stop(
                _at(event.start_mark, f"the alias {quoted(event.anchor)} is inside its own anchor")
            )
        if len(self._open) + anchored.height > MAX_DEPTH:
            self._findings.stop_too_deep()
        self._grow(anchored.values, anchored.characters)
        self._place(anchored.value, anchored.height)

    def _grow(self, values: int, characters: int) -> None:
        self._values += values
        self._characters += characters
        # Without aliases, no document is refused here: a value takes two bytes or more, a character one.
        if self._values > self._max_bytes // 2 + 1 or self._characters > self._max_bytes:
            self._findings.stop(f"expected at most {self._max_bytes} bytes when all aliases are written out")

    def _note(self, message: str) -> None:
        self._findings.add([step for level in self._open for step in level.steps], message)

    def _next_is_key(self) -> bool:
        return bool(self._open) and self._open[-1].next == "key"

    def _key(self, value: object, *, merges: bool = False) -> None:
        here = self._open[-1]
        here.next = "ignored"
        if not isinstance(value, str):
            if not isinstance(value, Refused):
                self._note(f"expected strings as keys, found {found(value)}")
            return
        here.key = value
        if merges and here.merged is None:
            here.merged = []
            here.next = "merged"
        elif merges or value in here.value:
            self._note("is given twice")
        else:
            here.next = "value"

    def _place(self, value: object, height: int = 0) -> None:
        if not self._open:
            self._roots.append(value)
            return
        here = self._open[-1]
        here.height = max(here.height, height + 1)
        if isinstance(here.value, list):
            here.value.append(value)
            return
        if here.next == "key":
            self._key(value)
            return
        if here.next == "value" and here.key is not None:
            here.value[here.key] = value
        elif here.next == "merged":
            sources = value if isinstance(value, list) else [value]
            here.merged = [source for source in sources if isinstance(source, dict)]
            if len(here.merged) < len(sources):
                self._note(f"expected a mapping to merge, or a list of mappings, found {found(value)}")
        here.key = None
        here.next = "key"
