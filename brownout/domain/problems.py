"""Pydantic's errors in the project's words: a path, and what was expected there."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from brownout.profile import FieldError, ValidationFailed

_NESTED = "brownout_fields"
_MESSAGES = {
    "missing": "is required",
    "string_type": "expected a string",
    "bool_type": "expected true or false",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "tuple_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping of fields to values",
    "model_attributes_type": "expected a mapping of fields to values",
    "greater_than_equal": "expected at least {ge}",
    "greater_than": "expected more than {gt}",
    "less_than_equal": "expected at most {le}",
    "less_than": "expected less than {lt}",
    "literal_error": "expected {expected}",
    "too_short": "expected at least {min_length}",
    "too_long": "expected at most {max_length}",
    "string_too_short": "expected at least {min_length} character(s)",
    "string_too_long": "expected at most {max_length} character(s)",
}


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
        for details in error.errors(include_url=False, include_input=True)
        for each in _translate(details, model, path)
    ]


def _translate(details: ErrorDetails, model: type[BaseModel], prefix: str) -> Iterator[FieldError]:
    place = join(prefix, _path(details["loc"]))
    context: dict[str, Any] = details.get("ctx", {})
    if details["type"] == _NESTED:
        for each in context["errors"]:
            yield FieldError(join(place, each.path), each.message)
    elif details["type"] == "extra_forbidden":
        known = ", ".join(_fields(model, details["loc"][:-1]))
        yield FieldError(place, f"unknown field; expected one of {known}" if known else "unknown field")
    elif details["type"] == "value_error":
        yield FieldError(place, str(context["error"]))
    else:
        template = _MESSAGES.get(details["type"])
        message = template.format(**context) if template else details["msg"]
        if details["type"] != "missing":
            message += f", not {_shown(details['input'])}"
        yield FieldError(place, message)


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for step in loc:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, step)
    return path


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}…"
    return {"dict": "a mapping", "list": "a list", "tuple": "a list"}.get(
        type(value).__name__, type(value).__name__
    )


def _fields(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the model found by following `loc`; empty when there is none."""
    here: type[BaseModel] | None = model
    for step in loc:
        if isinstance(step, str) and here is not None:
            field = here.model_fields.get(step)
            here = None if field is None else _model_in(field.annotation)
    return [] if here is None else [field.alias or name for name, field in here.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(
        (found for each in getattr(annotation, "__args__", ()) if (found := _model_in(each)) is not None),
        None,
    )
