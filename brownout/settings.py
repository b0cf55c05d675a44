"""What a control plane is started with; each is an argument, else a variable, else the default here."""

from typing import Annotated

from pydantic import Field

from brownout.domain.base import Entity
from brownout.domain.scalars import Duration, Text

PREFIX = "BROWNOUT_"


class Settings(Entity):
    """The settings and their defaults; `variable` tells how the environment has them."""

    database: Annotated[
        Text, Field(description="The path of a SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/NAME.")
    ] = "brownout.db"
    http: Annotated[Text, Field(description="HOST:PORT of REST and the dashboard.")] = "127.0.0.1:8080"
    xds: Annotated[Text, Field(description="HOST:PORT to which Envoys connect.")] = "127.0.0.1:18000"
    poll: Annotated[
        Duration, Field(description="How long a lost notification of another replica may stay unnoticed.")
    ] = 5_000_000_000


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"
