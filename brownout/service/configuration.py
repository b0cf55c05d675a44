"""A whole configuration as one document: `profiles`, `upstreams`, and `fleets`, each with its `endpoints`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from brownout.domain import Catalog, Endpoint, FieldError, Fleet, Profile, Raw, Upstream, ValidationFailed
from brownout.domain.base import as_mapping
from brownout.domain.problems import Problems, join
from brownout.profile.errors import found

T = TypeVar("T")

_SECTIONS = ("profiles", "upstreams", "fleets")


@dataclass(frozen=True, slots=True)
class WantedFleet:
    """A fleet as it should be; `endpoints` None leaves its list alone. `path` is its place in it."""

    fleet: Fleet
    endpoints: tuple[Endpoint, ...] | None
    path: str

    @property
    def name(self) -> str:
        """Return the fleet's name."""
        return self.fleet.name


@dataclass(frozen=True, slots=True)
class Wanted:
    """What should be; a section that is None is left alone."""

    profiles: tuple[Profile, ...] | None
    upstreams: tuple[Upstream, ...] | None
    fleets: tuple[WantedFleet, ...] | None


def parse_configuration(raw: Raw) -> Wanted:
    """Read a configuration.

    Raises:
        ValidationFailed: Every error at once.
    """
    problems = Problems()
    document = as_mapping(raw)
    for name in sorted(document.keys() - set(_SECTIONS)):
        problems.errors.append(FieldError(name, f"unknown field; known fields: {', '.join(_SECTIONS)}"))

    def fleet(item: Any, path: str) -> WantedFleet:
        fields = as_mapping(item, path=path)
        listed = {name: fields.pop(name) for name in ("endpoints",) if name in fields}
        endpoints = _items(listed, "endpoints", problems, _endpoint, at=path)
        return WantedFleet(Fleet.load(fields, path=path), endpoints, path)

    wanted = Wanted(
        _items(document, "profiles", problems, lambda item, path: Profile.load(item, path=path)),
        _items(document, "upstreams", problems, lambda item, path: Upstream.load(item, path=path)),
        _items(document, "fleets", problems, fleet),
    )
    problems.check()
    return wanted


def export_configuration(catalog: Catalog) -> dict[str, Any]:
    """Return everything that is configured as the document that `parse_configuration` reads."""
    return {
        "profiles": [each.entity.document() for each in catalog.profiles.values()],
        "upstreams": [each.entity.document() for each in catalog.upstreams.values()],
        "fleets": [
            {
                **fleet.entity.document(),
                "endpoints": [each.entity.document() for each in catalog.endpoints(name)],
            }
            for name, fleet in catalog.fleets.items()
        ],
    }


def _endpoint(item: Any, path: str) -> Endpoint:
    if isinstance(item, Mapping) and isinstance(item.get("fault"), Mapping) and "for" in item["fault"]:
        # Applying again what is there must change nothing.
        message = "give expires_at: `for` would mean another time at each apply"
        raise ValidationFailed([FieldError(join(path, "fault.for"), message)])
    return Endpoint.load(item, path=path)


def _items(
    document: Mapping[str, Any], name: str, problems: Problems, read: Callable[[Any, str], T], *, at: str = ""
) -> tuple[T, ...] | None:
    """Read the list at `name`; None when the document has none. Names must differ."""
    if name not in document:
        return None
    raw, path = document[name], join(at, name)
    if not isinstance(raw, list | tuple):
        problems.errors.append(FieldError(path, f"expected a list, found {found(raw)}"))
        return ()
    items: dict[str, T] = {}
    for index, each in enumerate(raw):
        with problems:
            item = read(each, f"{path}[{index}]")
            key: str = item.name  # type: ignore[attr-defined]  # all that is read here is named
            if key in items:
                raise ValidationFailed([FieldError(f"{path}[{index}].name", f"{key!r} stands here twice")])
            items[key] = item
    return tuple(items.values())
