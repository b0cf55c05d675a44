"""The base of all entities, and how a document becomes one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from brownout.domain.problems import field_errors
from brownout.domain.revision import Kind
from brownout.domain.scalars import Name
from brownout.profile import FieldError, ValidationFailed, parse_document
from brownout.profile.errors import found

Raw = Mapping[str, Any] | bytes | str
"""An entity as a caller brings it: a parsed mapping, or one YAML or JSON document."""


class Entity(BaseModel):
    """Immutable and strict: no unknown field, no coercion.

    `document()` is what REST shows and the store keeps, `load` its inverse.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @classmethod
    def load(cls, raw: Raw, *, path: str = "") -> Self:
        """Build it from a document.

        Raises:
            ValidationFailed: Every error at once, each path prefixed by `path`.
        """
        document = as_mapping(raw, path=path)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise ValidationFailed(field_errors(error, cls, path=path)) from None

    def document(self) -> dict[str, Any]:
        """Return plain JSON-able data, every field included, in the order of the declaration."""
        return self.model_dump(mode="json")


class Named(Entity):
    """What has a name of its own and a revision for every change."""

    kind: ClassVar[Kind]

    name: Name


def as_mapping(raw: object, *, path: str = "") -> dict[str, Any]:
    """Parse `raw` where needed and make sure that it is a mapping with strings as keys.

    Raises:
        ValidationFailed: It is not.
    """
    value = parse_document(raw) if isinstance(raw, bytes | str) else raw
    if not isinstance(value, Mapping):
        raise ValidationFailed(
            [FieldError(path, f"expected a mapping of fields to values, found {found(value)}")]
        )
    for key in value:
        if not isinstance(key, str):
            raise ValidationFailed([FieldError(path, f"expected strings as keys, found {found(key)}")])
    return dict(value)
