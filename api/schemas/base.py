"""What the documented models share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[
    str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", description="A DNS label.", examples=["pay"])
]
Duration = Annotated[
    str,
    Field(description="A duration in Go's notation, never negative.", examples=["250ms", "1m30s", "1.5µs"]),
]
Instant = Annotated[
    str,
    Field(
        description="RFC 3339 with a zone.",
        examples=["2030-01-31T18:00:00Z"],
        json_schema_extra={"format": "date-time"},
    ),
]
Cursor = Annotated[
    str | None, Field(description="Give it as `cursor` to read on; null on the last page.", examples=[None])
]


REF_TEMPLATE = "#/components/schemas/{model}"


class Schema(BaseModel):
    """A documented object without further fields."""

    model_config = ConfigDict(extra="forbid")


def ref(model: type[BaseModel]) -> dict[str, Any]:
    """A reference to a model among the document's components."""
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}
