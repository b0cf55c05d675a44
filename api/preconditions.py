"""Entity tags and preconditions (RFC 9110): an entity's tag is the revision that last changed it."""

import re
from dataclasses import dataclass
from typing import Protocol, Self

from api.problems import Malformed, Stale

_TAGS = re.compile(r'\s*(?:W/)?"[^"]*"\s*(?:,\s*(?:W/)?"[^"]*"\s*)*')
_TAG = re.compile(r'(W/)?"([^"]*)"')


class Revised(Protocol):
    """Something stored, with the revision that last changed it."""

    @property
    def revision(self) -> int:
        """The revision."""
        ...


def etag(revision: int) -> str:
    """The strong entity tag of a revision, as the `ETag` header has it."""
    return f'"{revision}"'


@dataclass(frozen=True, slots=True)
class Tags:
    """What an `If-Match` or `If-None-Match` header names: some tags, or (`any_tag`) whatever there is."""

    strong: frozenset[str]
    weak: frozenset[str]
    any_tag: bool = False


ANY = Tags(frozenset(), frozenset(), any_tag=True)
"""What `*` names."""


def parse_tags(header: str, value: str) -> Tags:
    """Read the value of a precondition header.

    Raises:
        Malformed: it is neither `*` nor a list of quoted tags.
    """
    if value.strip() == "*":
        return ANY
    if not _TAGS.fullmatch(value):
        raise Malformed(
            f"{header} is not readable",
            [(header, f'expected * or quoted entity tags as in "17", not {value!r}')],
        )
    found = _TAG.findall(value)
    return Tags(
        strong=frozenset(tag for weak, tag in found if not weak),
        weak=frozenset(tag for weak, tag in found if weak),
    )


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The precondition headers of one request."""

    if_match: Tags | None = None
    if_none_match: Tags | None = None

    @classmethod
    def read(cls, if_match: str | None, if_none_match: str | None) -> Self:
        """Parse both headers; an absent one asks nothing."""
        return cls(
            None if if_match is None else parse_tags("If-Match", if_match),
            None if if_none_match is None else parse_tags("If-None-Match", if_none_match),
        )

    def unchanged(self, revision: int) -> bool:
        """Whether a reader already has this revision (304). Weak tags count here (RFC 9110 13.1.2)."""
        tags = self.if_none_match
        return tags is not None and (tags.any_tag or str(revision) in tags.strong | tags.weak)

    def guard(self, what: str, present: Revised | None) -> int | None:
        """Hold the preconditions of a write against what is there, and keep them true until it is committed.

        Args:
            what: what is written, in words.
            present: what is there.

        Returns:
            The revision that the commit must still find (0: nothing there); `None` when nothing is asked.

        Raises:
            Stale: one of them does not hold.
        """
        if self.if_match is not None:
            if present is None:
                raise Stale(f"If-Match asks for an existing {what}; there is none")
            if not (self.if_match.any_tag or str(present.revision) in self.if_match.strong):
                raise Stale(f"{what} has changed: it is at revision {present.revision} now; read it again")
        if self.if_none_match is not None and present is not None and self.unchanged(present.revision):
            raise Stale(f"If-None-Match forbids what is there: {what} is at revision {present.revision}")
        if self.if_match is None and self.if_none_match is None:
            return None
        return 0 if present is None else present.revision
