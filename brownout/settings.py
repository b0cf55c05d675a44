"""What a control plane is started with; each is an argument, else a variable, else the default here."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from brownout.domain.base import Entity
from brownout.domain.problems import at
from brownout.domain.scalars import PositiveDuration, Text

PREFIX = "BROWNOUT_"


class Settings(Entity):
    """The settings and their defaults; `variable` tells how the environment has them."""

    database: Annotated[
        Text, Field(description="The path of a SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/NAME.")
    ] = "brownout.db"
    http: Annotated[Text, Field(description="HOST:PORT of REST and the dashboard.")] = "127.0.0.1:8080"
    xds: Annotated[Text, Field(description="HOST:PORT to which Envoys connect.")] = "127.0.0.1:18000"
    poll: Annotated[
        PositiveDuration,
        Field(description="How long a lost notification of another replica may stay unnoticed."),
    ] = 5_000_000_000
    xds_cert: Annotated[
        Text | None, Field(description="A file with the certificate for TLS with Envoys; none: plain text.")
    ] = None
    xds_key: Annotated[Text | None, Field(description="A file with the private key of `xds_cert`.")] = None
    xds_client_ca: Annotated[
        Text | None,
        Field(description="A file with the authorities that sign Envoys' certificates; none: not asked for."),
    ] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.xds_cert is not None and self.xds_key is None:
            raise at("xds_key", "is required with xds_cert")
        for name in ("xds_key", "xds_client_ca"):
            if getattr(self, name) is not None and self.xds_cert is None:
                raise at("xds_cert", f"is required with {name}")
        return self


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"
