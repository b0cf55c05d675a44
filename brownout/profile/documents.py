"""Documents: one YAML 1.2 or JSON text becomes plain values."""

import json
import re

from brownout.profile.errors import ValidationFailed
from brownout.profile.json_documents import parse_json
from brownout.profile.reading import Findings

MAX_DOCUMENT_BYTES = 2**20
"""The largest document unless a caller says otherwise: 1 MiB."""

# YAML's flow style may begin so as well, but hardly does: names need no quotes there.
_LIKE_JSON = re.compile(r"\s*[\[{]\s*[\"\[{\]}]")


def parse_document(raw: bytes | str, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> object:
    """Return the value of one YAML 1.2 or JSON document: dicts with string keys, lists and scalars.

    Args:
        raw: The document, as UTF-8 if it is bytes.
        max_bytes: How long it may be, also with all aliases written out.

    Raises:
        ValidationFailed: Every duplicate key, key that is no string, number that is not finite, integer
            beyond 64 bits and U+0000 in it; or the one reason why it cannot be read.
    """
    findings = Findings()
    value = read_document(raw, findings, max_bytes)
    findings.check()
    return value


def read_document(raw: bytes | str, findings: Findings, max_bytes: int = MAX_DOCUMENT_BYTES) -> object:
    """Return the value of a document that can be read; what is wrong in it goes to `findings`.

    Raises:
        ValidationFailed: It cannot be read.
    """
    text = _decoded(raw, findings, max_bytes)
    if text.lstrip()[:1] not in ("{", "["):
        return _yaml(text, findings, max_bytes)
    try:
        return parse_json(text, findings)
    except json.JSONDecodeError as error:
        no_json = error
    try:
        return _yaml(text, findings, max_bytes)
    except ValidationFailed:
        if _LIKE_JSON.match(text):
            findings.stop(
                f"line {no_json.lineno}, column {no_json.colno}: expected JSON or YAML: {no_json.msg}"
            )
        raise


def _yaml(text: str, findings: Findings, max_bytes: int) -> object:
    from brownout.profile.yaml_documents import parse_yaml  # noqa: PLC0415 (JSON needs no YAML library)

    return parse_yaml(text, findings, max_bytes)


def _decoded(raw: bytes | str, findings: Findings, max_bytes: int) -> str:
    if len(raw) > max_bytes:
        findings.stop(f"expected at most {max_bytes} bytes, found {len(raw)} or more")
    try:
        encoded, text = (raw, raw.decode()) if isinstance(raw, bytes) else (raw.encode(), raw)
    except UnicodeDecodeError as error:
        findings.stop(f"expected UTF-8, found the byte 0x{raw[error.start]:02x} at offset {error.start}")
    except UnicodeEncodeError as error:
        findings.stop(f"expected text, found half of a surrogate pair at offset {error.start}")
    if len(encoded) > max_bytes:
        findings.stop(f"expected at most {max_bytes} bytes, found {len(encoded)}")
    nul = text.find("\0")
    if nul >= 0:
        findings.stop(f"expected text, found U+0000 at offset {nul}")
    return text.removeprefix("\ufeff")
