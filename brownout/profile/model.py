"""The base of the language's values."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An immutable value that a reader of this package has checked; equal values behave equally."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
