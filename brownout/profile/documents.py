"""Documents: one YAML 1.2 or JSON text, or what was already parsed, become plain values."""

import json
from collections.abc import Mapping
from typing import Any

from brownout.profile.errors import FieldError, ValidationFailed

MAX_DOCUMENT_BYTES = 2**20
"""The largest document: 1 MiB."""


def parse_document(raw: bytes | str) -> object:
    """Return the plain value of a document.

    Raises:
        ValidationFailed: It is no single, well-formed, strict document.
    """
    text = raw.decode() if isinstance(raw, bytes) else raw
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ValidationFailed([FieldError("", "expected at most 1 MiB")])
    try:
        return json.loads(text)
    except ValueError:
        from ruamel.yaml import YAML, YAMLError  # noqa: PLC0415 (JSON does not need it)

        try:
            return YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            raise ValidationFailed([FieldError("", str(error))]) from None


def as_value(raw: Mapping[str, Any] | bytes | str) -> object:
    """Return what is to be read: a document is parsed, anything else is taken as it is."""
    return parse_document(raw) if isinstance(raw, bytes | str) else raw
