"""Behaviour under load: two tiers by the requests in flight, and the grey zone between them."""

from typing import Any, Literal

from brownout.profile.durations import format_duration
from brownout.profile.model import Model
from brownout.profile.reading import Fields, Value
from brownout.profile.responses import Response, dump_responses, read_responses
from brownout.profile.scalars import choice, duration, integer, number, plain_number

MAX_THRESHOLD = 2**53
"""The largest number of requests in flight that a threshold may name (exact in a double)."""

Scope = Literal["process", "endpoint"]

_FIELDS = ("healthy", "tipping_point", "grey_zone", "scope")
_TIER_FIELDS = ("threshold_in_flight", "responses")
_GREY_FIELDS = (
    "penalty_base",
    "spike_threshold",
    "spike_penalty_duration",
    "spike_penalty_multiplier",
    "recovery_rate",
)


class Tier(Model):
    """What is answered on one side of a number of requests in flight."""

    threshold_in_flight: int
    responses: tuple[Response, ...]


class GreyZone(Model):
    """The penalty between the tiers. Durations are nanoseconds."""

    penalty_base: int
    spike_threshold: float
    spike_penalty_duration: int
    spike_penalty_multiplier: float
    recovery_rate: float


class LoadBased(Model):
    """Two tiers. `scope` says whose requests in flight count: all of the process, or the endpoint's."""

    healthy: Tier
    tipping_point: Tier
    grey_zone: GreyZone | None = None
    scope: Scope = "process"


def read_load_based(value: Value) -> LoadBased | None:
    """Read a behaviour under load."""
    fields = Fields.of(value, _FIELDS)
    if fields is None:
        return None
    thresholds: list[int] = []

    def read_threshold(at: Value) -> int | None:
        threshold = _threshold(at)
        if threshold is None:
            return None
        if thresholds and threshold <= thresholds[0]:
            at.fail(
                f"expected more than healthy.threshold_in_flight, which is {thresholds[0]}, found {threshold}"
            )
            return None
        thresholds.append(threshold)
        return threshold

    def read_tier(at: Value) -> Tier | None:
        tier = Fields.of(at, _TIER_FIELDS)
        if tier is None:
            return None
        threshold = tier.required("threshold_in_flight", read_threshold)
        responses = tier.required("responses", read_responses)
        if threshold is None or responses is None:
            return None
        return Tier(threshold_in_flight=threshold, responses=responses)

    healthy = fields.required("healthy", read_tier)
    tipping_point = fields.required("tipping_point", read_tier)
    grey_zone = fields.optional("grey_zone", _read_grey_zone)
    scope: Scope = fields.defaulted("scope", _scope, "process")
    if healthy is None or tipping_point is None:
        return None
    return LoadBased(healthy=healthy, tipping_point=tipping_point, grey_zone=grey_zone, scope=scope)


_threshold = integer(1, MAX_THRESHOLD, "from 1 to 2^53")
_SCOPES: tuple[Scope, Scope] = ("process", "endpoint")
_scope = choice(*_SCOPES)
_spike_threshold = number("a number between 0 and 1 (neither of them)", lambda x: 0 < x < 1)
_multiplier = number("a finite number greater than 0", lambda x: x > 0)
_recovery_rate = number("a number greater than 0 and at most 1", lambda x: 0 < x <= 1)


def _read_grey_zone(value: Value) -> GreyZone | None:
    fields = Fields.of(value, _GREY_FIELDS)
    if fields is None:
        return None
    penalty_base = fields.required("penalty_base", duration)
    spike_threshold = fields.required("spike_threshold", _spike_threshold)
    spike_penalty_duration = fields.required("spike_penalty_duration", duration)
    multiplier = fields.required("spike_penalty_multiplier", _multiplier)
    recovery_rate = fields.required("recovery_rate", _recovery_rate)
    if (
        penalty_base is None
        or spike_threshold is None
        or spike_penalty_duration is None
        or multiplier is None
        or recovery_rate is None
    ):
        return None
    return GreyZone(
        penalty_base=penalty_base,
        spike_threshold=spike_threshold,
        spike_penalty_duration=spike_penalty_duration,
        spike_penalty_multiplier=multiplier,
        recovery_rate=recovery_rate,
    )


def dump_load_based(load_based: LoadBased) -> dict[str, Any]:
    """Return the mapping that `read_load_based` reads as `load_based`."""
    plain: dict[str, Any] = {
        "healthy": _dump_tier(load_based.healthy),
        "tipping_point": _dump_tier(load_based.tipping_point),
    }
    grey = load_based.grey_zone
    if grey is not None:
        plain["grey_zone"] = {
            "penalty_base": format_duration(grey.penalty_base),
            "spike_threshold": grey.spike_threshold,
            "spike_penalty_duration": format_duration(grey.spike_penalty_duration),
            "spike_penalty_multiplier": plain_number(grey.spike_penalty_multiplier),
            "recovery_rate": plain_number(grey.recovery_rate),
        }
    if load_based.scope != "process":
        plain["scope"] = load_based.scope
    return plain


def _dump_tier(tier: Tier) -> dict[str, Any]:
    return {"threshold_in_flight": tier.threshold_in_flight, "responses": dump_responses(tier.responses)}
