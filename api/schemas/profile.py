"""Profiles: the behaviour of the seed, named."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.schemas.base import Cursor, Duration, Name, Schema

_CHECKOUT = {
    "responses": [
        {"status": 200, "resolution": 900, "distribution": {"p50": "80ms", "p99": "400ms", "p100": "900ms"}},
        {"status": 503, "resolution": 100, "distribution": {"p0": "5ms", "p100": "20ms"}},
    ]
}


class Header(Schema):
    """One header of a local response; the pair `[name, value]` means the same."""

    name: str
    value: str


class LocalResponse(Schema):
    """What a forced response carries."""

    body: str | None = Field(
        None,
        description="Omitted: empty below 400, a generated text from 400 on. 204, 205 and 304 have none.",
    )
    headers: list[Header | Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        [],
        description="In order, repeated names kept. Reserved: hop-by-hop headers, content-length, x-fault-*.",
    )


class Response(Schema):
    """One status with its latency distribution."""

    status: int = Field(ge=200, le=599)
    resolution: int = Field(
        ge=1, description="The weight of this status, and the samples of one stateful cycle."
    )
    distribution: dict[str, Duration] = Field(
        description="Percentile to duration: `p` and a number from 0 to 100; values never decrease.",
        min_length=1,
        examples=[{"p50": "80ms", "p99.9": "1.2s"}],
    )
    local_response: LocalResponse | None = None


class Tier(Schema):
    """A behaviour up to, or from, a number of requests in flight."""

    threshold_in_flight: int = Field(ge=1)
    responses: list[Response] = Field(min_length=1)


class GreyZone(Schema):
    """What happens between the two tiers."""

    penalty_base: Duration
    spike_threshold: float = Field(gt=0, lt=1)
    spike_penalty_duration: Duration
    spike_penalty_multiplier: float = Field(gt=0)
    recovery_rate: float = Field(gt=0, le=1)


class LoadBased(Schema):
    """Behaviour that depends on the requests in flight."""

    healthy: Tier
    tipping_point: Tier
    grey_zone: GreyZone | None = None
    scope: Literal["process", "endpoint"] = Field("process", description="Whose requests count as in flight.")


class ProfileSpec(Schema):
    """A fault behaviour: exactly one of `responses` and `load_based`."""

    responses: list[Response] | None = Field(None, min_length=1)
    load_based: LoadBased | None = None
    probability_distribution: Literal["stateful", "stateless"] = "stateful"
    diagnostic: bool = Field(False, description="Whether responses name the Envoy worker that decided.")
    override: Literal["local_response", "upstream_response"] = Field(
        "local_response",
        description="A forced status is Envoy's own reply, or the upstream's (which Envoy retries).",
    )
    seed: int | None = Field(None, description="Makes draws reproducible.")


class Profile(Schema):
    """A named fault behaviour."""

    name: Name
    description: str = Field("", max_length=2000)
    spec: ProfileSpec = Field(description="As its author wrote it.", examples=[_CHECKOUT])


class ProfileUpdate(Profile):
    """A profile as `PUT` takes it; the name may be left out, the path has it."""

    name: Name | None = None  # type: ignore[assignment]  # may be left out here


class ProfileList(Schema):
    """A page of profiles, by name."""

    items: list[Profile]
    next: Cursor = None


class ProfileChecked(Schema):
    """What validation found: the profile, with every default written out."""

    valid: Literal[True]
    spec: dict[str, Any] = Field(description="The behaviour in its canonical form.", examples=[_CHECKOUT])


class Rollback(Schema):
    """Which former content shall be the present one."""

    revision: int = Field(ge=1, description="A revision of this history.", examples=[17])
