"""What is stored: an entity with its revision, a list with its revision, or damage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from brownout.domain.base import Named
from brownout.domain.endpoint import Endpoint
from brownout.domain.revision import Kind
from brownout.profile import FieldError

E_co = TypeVar("E_co", bound=Named, covariant=True)


@dataclass(frozen=True, slots=True)
class Stored(Generic[E_co]):
    """An entity and the revision that last changed it (its ETag)."""

    entity: E_co
    revision: int


@dataclass(frozen=True, slots=True)
class EndpointList:
    """A fleet's endpoints in order, and the revision that last changed the list or an entry of it."""

    items: tuple[Stored[Endpoint], ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Damage:
    """A stored row that cannot be delivered as it is; everything else is.

    An endpoint whose fault names a profile that is not there is delivered without its fault, so that it keeps
    routing. All others are left out.

    Attributes:
        kind: What it is.
        key: Its name, as in `Revision.key`.
        errors: What is wrong with it.
        document: What is stored, where that is a mapping at all.
        uses: What it refers to, as far as the store knows: `("upstream", name)`, `("profile", name)`.
    """

    kind: Kind
    key: str
    errors: tuple[FieldError, ...]
    document: Mapping[str, Any] | None = None
    uses: tuple[tuple[Kind, str], ...] = ()
