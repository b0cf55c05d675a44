"""Small request bodies that are no entity; validated as strictly as entities are."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from brownout.domain import Entity, FieldError, ValidationFailed


class _RollbackTo(Entity):
    revision: Annotated[int, Field(ge=1)]


class _Order(Entity):
    endpoints: Annotated[tuple[str, ...], Field(strict=False)]


def rollback_target(body: Any) -> int:
    """The revision to return to, from `{"revision": 17}`.

    Raises:
        ValidationFailed: it is something else.
    """
    return _RollbackTo.load(body).revision


@dataclass(frozen=True, slots=True)
class WantedOrder:
    """An order of endpoints; `path` is where the list stands in the body."""

    names: tuple[str, ...]
    path: str

    @contextmanager
    def located(self) -> Iterator[None]:
        """Let errors name places in the body, not in the list."""
        try:
            yield
        except ValidationFailed as failed:
            raise ValidationFailed(
                FieldError(f"{self.path}{each.path}", each.message) for each in failed.errors
            ) from failed


def wanted_order(body: Any) -> WantedOrder:
    """The names in order, from `{"endpoints": […]}` or the bare list.

    Raises:
        ValidationFailed: it is something else.
    """
    bare = isinstance(body, list)
    return WantedOrder(
        _Order.load({"endpoints": body} if bare else body).endpoints, "" if bare else "endpoints"
    )
