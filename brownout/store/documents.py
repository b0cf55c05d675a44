"""Documents as rows keep them: JSON text."""

import json
from collections.abc import Mapping
from typing import Any

from brownout.profile import FieldError, ValidationFailed


def to_text(document: Mapping[str, Any]) -> str:
    """Return a document as the store writes it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Any:
    """Return the document that a row keeps.

    Raises:
        ValidationFailed: It is none.
    """
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:  # SQLite keeps any type in any column
        raise ValidationFailed([FieldError("", f"is no JSON: {error}")]) from None
