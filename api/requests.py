"""Small request bodies that are no entity; validated as strictly as entities are."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from brownout.domain import Entity


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


def wanted_order(body: Any) -> Sequence[str]:
    """The names in order, from `{"endpoints": […]}` or the bare list.

    Raises:
        ValidationFailed: it is something else.
    """
    return _Order.load({"endpoints": body} if isinstance(body, list) else body).endpoints
