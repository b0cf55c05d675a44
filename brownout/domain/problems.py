"""Pydantic's errors in the project's words: a path, what was expected there, and what was found."""

from collections.abc import Iterator
from typing import Any, Self

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from brownout.profile import FieldError, ValidationFailed
from brownout.profile.errors import found, join_path
from brownout.profile.scalars import plain_number

_NESTED = "brownout_fields"
_EXPECTED = {
    "string_type": "a string",
    "string_unicode": "text that UTF-8 can express",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping of fields to values",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
}
_LENGTHS = {"string_too_short", "string_too_long"}


def join(path: str, relative: str) -> str:
    """Return `relative` as seen from the document's root when it was found at `path`."""
    if not path or not relative:
        return path or relative
    return f"{path}{relative}" if relative.startswith("[") else f"{path}.{relative}"


def nested(failed: ValidationFailed) -> PydanticCustomError:
    """Return the error by which a validator reports several, with paths relative to its own place."""
    return PydanticCustomError(_NESTED, "invalid", {"errors": failed.errors})


def at(path: str, message: str) -> PydanticCustomError:
    """Return the error by which a validator reports `message` at `path` below its own place."""
    return nested(ValidationFailed([FieldError(path, message)]))


def field_errors(error: ValidationError, model: type[BaseModel], *, path: str = "") -> list[FieldError]:
    """Return all errors of a validation, each path prefixed by `path`."""
    return [
        each
        for details in error.errors(include_url=False)
        for each in _translate(details, model, join_path(path, details["loc"]))
    ]


def _translate(details: ErrorDetails, model: type[BaseModel], place: str) -> Iterator[FieldError]:
    context: dict[str, Any] = details.get("ctx", {})
    bounds = {key: plain_number(value) for key, value in context.items() if isinstance(value, float)}
    match details["type"]:
        case "brownout_fields":
            for each in context["errors"]:
                yield FieldError(join(place, each.path), each.message)
        case "missing":
            yield FieldError(place, "is required")
        case "extra_forbidden":
            known = ", ".join(_fields(model, details["loc"][:-1]))
            yield FieldError(place, f"unknown field; known fields: {known}" if known else "unknown field")
        case "value_error":
            yield FieldError(place, str(context["error"]))
        case kind if kind in _EXPECTED:
            expected = f"expected {_EXPECTED[kind].format(**{**context, **bounds})}"
            told = kind not in _LENGTHS
            yield FieldError(place, f"{expected}, found {found(details['input'])}" if told else expected)
        case _:
            yield FieldError(place, f"{details['msg']}, found {found(details['input'])}")


def _fields(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the model found by following `loc`; empty when there is none."""
    here: type[BaseModel] | None = model
    for step in loc:
        if isinstance(step, str) and here is not None:
            field = here.model_fields.get(step)
            here = None if field is None else _model_in(field.annotation)
    return [] if here is None else list(here.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = getattr(annotation, "__args__", ())
    return next((model for each in parts if (model := _model_in(each)) is not None), None)


class Problems:
    """Collects the errors of several steps, to report them at once.

    Behind a failure inside of `with problems:` the next step goes on.
    """

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, ValidationFailed):
            self.errors += error.errors
            return True
        return False

    def check(self) -> None:
        """Raise ValidationFailed if any step failed."""
        if self.errors:
            raise ValidationFailed(self.errors)
