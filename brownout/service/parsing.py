"""From what a caller brings to entities."""

from datetime import datetime
from typing import Any, TypeVar

from brownout.domain import Endpoint, Entity, Fault, FieldError, Raw
from brownout.domain.base import as_mapping
from brownout.domain.fault import with_deadline
from brownout.domain.problems import Problems
from brownout.profile.errors import found

M = TypeVar("M", bound=Entity)


def parse_named(model: type[M], raw: Raw, name: str | None) -> M:
    """Build an entity; one that the caller addressed by `name` need not repeat it."""
    problems = Problems()
    document = as_mapping(raw)
    if name is not None:
        given = document.get("name", name)
        if given != name:
            message = f"expected {name!r}, as it is addressed, or no name at all, found {found(given)}"
            problems.errors.append(FieldError("name", message))
        document["name"] = name
    with problems:
        entity = model.load(document)
    problems.check()
    return entity


def parse_endpoint(raw: Raw, name: str | None, now: datetime) -> Endpoint:
    """Build an endpoint, in whose fault `for` may stand for `expires_at`."""
    problems = Problems()
    document = as_mapping(raw)
    if isinstance(document.get("fault"), dict):
        document["fault"] = _dated(document["fault"], now, problems, "fault")
    with problems:
        endpoint = parse_named(Endpoint, document, name)
    problems.check()
    return endpoint


def parse_fault(raw: Raw, now: datetime) -> Fault:
    """Build a fault, in which `for` may stand for `expires_at`."""
    problems = Problems()
    document = _dated(as_mapping(raw), now, problems, "")
    with problems:
        fault = Fault.load(document)
    problems.check()
    return fault


def _dated(fault: dict[str, Any], now: datetime, problems: Problems, path: str) -> dict[str, Any]:
    with problems:
        return with_deadline(fault, now, path=path)
    return {key: value for key, value in fault.items() if key != "for"}
