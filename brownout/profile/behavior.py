"""A profile: the behaviour of an endpoint, whatever it is bound to."""

from typing import Any, Literal

from brownout.profile.load_based import LoadBased, dump_load_based, read_load_based
from brownout.profile.model import Model
from brownout.profile.reading import Fields
from brownout.profile.responses import Response, dump_responses, read_responses
from brownout.profile.scalars import boolean, choice, integer

ProbabilityDistribution = Literal["stateful", "stateless"]
Override = Literal["local_response", "upstream_response"]

BEHAVIOR_FIELDS = ("responses", "load_based", "probability_distribution", "diagnostic", "override", "seed")
"""The fields of a profile."""


class Behavior(Model):
    """What a profile says: exactly one of `responses` and `load_based`, and how draws are made and shown."""

    responses: tuple[Response, ...] | None = None
    load_based: LoadBased | None = None
    probability_distribution: ProbabilityDistribution = "stateful"
    diagnostic: bool = False
    override: Override = "local_response"
    seed: int | None = None


_MODES: tuple[ProbabilityDistribution, ...] = ("stateful", "stateless")
_OVERRIDES: tuple[Override, ...] = ("local_response", "upstream_response")
_override = choice(*_OVERRIDES)
_seed = integer(-(2**63), 2**63 - 1, "of 64 bits, from -2^63 to 2^63-1")

read_mode = choice(*_MODES)


def read_behavior(fields: Fields, defaults: Behavior | None = None) -> Behavior:
    """Read the behaviour among `fields`; `defaults` says what an absent mode or `diagnostic` is."""
    defaults = defaults or _DEFAULTS
    return Behavior(
        responses=fields.optional("responses", read_responses),
        load_based=fields.optional("load_based", read_load_based),
        probability_distribution=fields.defaulted(
            "probability_distribution", read_mode, defaults.probability_distribution
        ),
        diagnostic=fields.defaulted("diagnostic", boolean, defaults.diagnostic),
        override=fields.defaulted("override", _override, "local_response"),
        seed=fields.optional("seed", _seed),
    )


_DEFAULTS = Behavior()


def dump_behavior(behavior: Behavior) -> dict[str, Any]:
    """Return the fields that `read_behavior` reads as `behavior`, defaults left out."""
    plain: dict[str, Any] = {}
    if behavior.responses is not None:
        plain["responses"] = dump_responses(behavior.responses)
    if behavior.load_based is not None:
        plain["load_based"] = dump_load_based(behavior.load_based)
    for name in ("probability_distribution", "diagnostic", "override", "seed"):
        value = getattr(behavior, name)
        if value != getattr(_DEFAULTS, name):
            plain[name] = value
    return plain
