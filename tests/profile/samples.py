"""Small valid documents to spoil, and what a refused one is refused for."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from brownout.profile import ValidationFailed

RESPONSE: dict[str, Any] = {"status": 200, "resolution": 10, "distribution": {"p50": "20ms"}}

PROFILE: dict[str, Any] = {"responses": [RESPONSE]}

LOAD_BASED: dict[str, Any] = {
    "healthy": {"threshold_in_flight": 10, "responses": [RESPONSE]},
    "tipping_point": {"threshold_in_flight": 50, "responses": [RESPONSE]},
    "grey_zone": {
        "penalty_base": "50ms",
        "spike_threshold": 0.8,
        "spike_penalty_duration": "2s",
        "spike_penalty_multiplier": 3,
        "recovery_rate": 0.5,
    },
}


def changed(document: dict[str, Any], *keys: str | int, to: object) -> dict[str, Any]:
    """Return a copy of `document` with another value at `keys`."""
    result = copy.deepcopy(document)
    here: Any = result
    for key in keys[:-1]:
        here = here[key]
    here[keys[-1]] = to
    return result


def without(document: dict[str, Any], *keys: str | int) -> dict[str, Any]:
    """Return a copy of `document` in which nothing stands at `keys`."""
    result = copy.deepcopy(document)
    here: Any = result
    for key in keys[:-1]:
        here = here[key]
    del here[keys[-1]]
    return result


def errors(load: Callable[[Any], object], document: object) -> list[tuple[str, str]]:
    """Return paths and messages for which `load` refuses `document`."""
    with pytest.raises(ValidationFailed) as refused:
        load(document)
    return [(error.path, error.message) for error in refused.value.errors]


def paths(load: Callable[[Any], object], document: object) -> list[str]:
    """Return the paths for which `load` refuses `document`."""
    return [path for path, _ in errors(load, document)]
