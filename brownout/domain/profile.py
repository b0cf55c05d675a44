"""A profile: a named fault behaviour."""

import json
from typing import Any, ClassVar, Self

from pydantic import (
    ModelWrapValidatorHandler,
    PrivateAttr,
    field_serializer,
    field_validator,
    model_validator,
)

from brownout.domain.base import Named
from brownout.domain.problems import nested
from brownout.domain.revision import Kind
from brownout.domain.scalars import Prose
from brownout.profile import Behavior, ValidationFailed, dump, load_profile


class Profile(Named):
    """A named behaviour.

    `spec` is what the filter does. The document shows the specification as its author wrote it (`1000ms`
    stays `1000ms`, a default that was written out stays); two profiles are equal when their documents are.
    """

    kind: ClassVar[Kind] = "profile"

    description: Prose = ""
    spec: Behavior

    _source: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("spec", mode="before")
    @classmethod
    def _load(cls, value: object) -> Behavior:
        if isinstance(value, Behavior):
            return value
        try:
            return load_profile(value)  # type: ignore[arg-type]  # it says itself what it cannot read
        except ValidationFailed as failed:
            raise nested(failed) from None

    @model_validator(mode="wrap")
    @classmethod
    def _keep_source(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        profile = handler(value)
        if isinstance(value, dict):
            source = value["spec"]
            plain = dump(source) if isinstance(source, Behavior) else source
            profile._source = json.loads(json.dumps(plain))  # noqa: SLF001 (its own)
        return profile

    @field_serializer("spec", when_used="json")
    def _show(self, _value: Behavior) -> dict[str, Any]:
        return self._source
