"""Names in certificates, and what a fleet takes of them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from brownout.domain.hosts import is_host_name
from brownout.profile.errors import quoted

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/*?#]+(/[^\s*]*)?")
_BELOW = "/*"
_ONE_LABEL = "*."
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class CertificateNames:
    """The subject alternative names of a client's certificate.

    Attributes:
        dns: Its DNS names.
        uris: Its URIs, a SPIFFE ID for one.
    """

    dns: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()

    def __str__(self) -> str:
        listed = ", ".join((*self.uris, *self.dns)) or "no DNS name and no URI"
        short = listed if len(listed) <= _SHOWN else f"{listed[:_SHOWN]}…"
        return "".join(each if each.isprintable() else "?" for each in short)

    def match(self, patterns: Iterable[str]) -> bool:
        """Whether one of the names is what one of `patterns` says."""
        return any(_matches(each, self) for each in patterns)


def _is_uri(pattern: str) -> bool:
    return "://" in pattern


def _matches(pattern: str, names: CertificateNames) -> bool:
    if not _is_uri(pattern):
        return _among(pattern, [name.lower() for name in names.dns])
    if pattern.endswith(_BELOW):
        above = pattern.removesuffix("*")
        return any(name.startswith(above) and name != above for name in names.uris)
    return pattern in names.uris


def _among(pattern: str, names: Collection[str]) -> bool:
    if not pattern.startswith(_ONE_LABEL):
        return pattern in names
    # One label, as in certificates themselves (RFC 6125).
    domain = pattern.removeprefix("*")
    return any(name.endswith(domain) and "." not in name.removesuffix(domain) for name in names)


def _pattern(value: str) -> str:
    if _is_uri(value):
        if _URI.fullmatch(value.removesuffix("*") if value.endswith(_BELOW) else value):
            return value
    elif is_host_name(value.removeprefix(_ONE_LABEL)):
        return value.lower()
    raise ValueError(
        'expected a name in a certificate: a URI, like "spiffe://example.com/edge" or '
        '"spiffe://example.com/edge/*", or a DNS name, like "edge.example.com" or "*.edge.example.com", '
        f"found {quoted(value)}"
    )


CertificatePattern = Annotated[str, AfterValidator(_pattern)]
"""A DNS name or a URI; `*.` in front stands for one label, `/*` at the end for everything below."""
