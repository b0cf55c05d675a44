"""What a control plane is started with: arguments, else the environment, else defaults."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field

from brownout.domain.base import Entity
from brownout.domain.scalars import Duration, Text
from brownout.profile import FieldError, ValidationFailed

PREFIX = "BROWNOUT_"


class Settings(Entity):
    """The settings; `database` is the variable `BROWNOUT_DATABASE`, and so on."""

    database: Annotated[
        Text, Field(description="The path of a SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/NAME.")
    ] = "brownout.db"
    http: Annotated[Text, Field(description="HOST:PORT of REST and the dashboard.")] = "127.0.0.1:8080"
    xds: Annotated[Text, Field(description="HOST:PORT to which Envoys connect.")] = "127.0.0.1:18000"
    poll: Annotated[
        Duration, Field(description="How long a lost notification of another replica may stay unnoticed.")
    ] = 5_000_000_000

    @classmethod
    def read(cls, environment: Mapping[str, str], **arguments: str | None) -> Self:
        """Combine arguments (None: not given) and environment.

        Raises:
            ValidationFailed: Every setting that is not as expected, by the name under which it was given.
        """
        found = {
            name: environment[variable(name)] for name in cls.model_fields if variable(name) in environment
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return cls.load(found | given)
        except ValidationFailed as failed:
            raise ValidationFailed(
                FieldError(each.path if each.path in given else variable(each.path), each.message)
                for each in failed.errors
            ) from None


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"
