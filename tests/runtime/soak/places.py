"""The routes of the soak: what each injects, and what may come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.runtime.profiles import always, profile, response
from tests.support import route

from .answers import Answer
from .shapes import Shape

# Clusters: two that stay as they are, one that changes, protocol included, and one that comes and goes.
STABLE = ("http1", "http2")
CHANGING, COMING = "changing", "coming"
KINDS = (*STABLE, CHANGING, COMING)
# One of its own for mirrored requests: Envoy itself crashes when their cluster changes meanwhile.
MIRROR = "mirror"
CHEAP = ("cheap1", "cheap2")
GRPC = "grpc"
BROKEN = 0
LARGE = "x" * 100_000
REWRITE = {"override": "upstream_response"}
ENVOYS_OWN = frozenset({BROKEN, 502, 503, 504})
_EXTRA = {"status": 200, "resolution": 1, "distribution": {"p0": "0s", "p100": "1ms"}}
_LOAD = {
    "healthy": {"threshold_in_flight": 5, "responses": [response(200, "2ms")]},
    "tipping_point": {
        "threshold_in_flight": 60,
        "responses": [response(200, "20ms", weight=2), response(503, "1ms")],
    },
    "grey_zone": {
        "penalty_base": "5ms",
        "spike_threshold": 0.5,
        "spike_penalty_duration": "1s",
        "spike_penalty_multiplier": 3,
        "recovery_rate": 0.5,
    },
}
_BACK_OFF = {"base_interval": "0.001s", "max_interval": "0.002s"}
_RETRY = {"retry_on": "5xx,reset", "num_retries": 2, "retry_back_off": _BACK_OFF}
# A status below 400 that is retried is what a hedged attempt must not be given up with.
_HEDGED = _RETRY | {"retry_on": "5xx,retriable-status-codes", "retriable_status_codes": [203]}


def spread(status: int, longest: str, weight: int = 1, **local: Any) -> dict[str, Any]:
    """A response entry with latencies from none to `longest`."""
    return response(status, weight=weight, **local) | {"distribution": {"p0": "0s", "p100": longest}}


def fault_text(status: int) -> bytes:
    """The body of a forced status for which none is configured."""
    return b"fault filter abort: %d\n" % status if status >= 400 else b""


@dataclass(frozen=True)
class Place:
    """One path, for every kind of upstream.

    Attributes:
        inject: the route's profile; None: the filter is there, and the filter-level configuration decides.
        passes: whether the upstream's own answer may come, whatever was drawn.
        options: of Envoy's route.
        others: statuses of Envoy's own that may come as well, with any body; 0: the response breaks off.
        lasts: seconds after a push that the fault expires.
        varies: whether pushes change the draws.
        uploads: whether requests have bodies: Envoy itself never ends some that it hedges.
    """

    inject: dict[str, Any] | None
    passes: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    others: frozenset[int] = frozenset()
    lasts: float = 3600.0
    varies: bool = False
    uploads: bool = True

    @property
    def forced(self) -> dict[int, bytes]:
        """What may be forced, by status: the body."""
        config = self.inject if self.inject is not None else LEVEL
        tiers = config.get("load_based", {"only": config})
        entries = [entry for tier in tiers.values() for entry in tier.get("responses", [])]
        if self.varies:
            entries.append(_EXTRA)
        return {
            entry["status"]: entry.get("local_response", {}).get("body", "").encode()
            or fault_text(entry["status"])
            for entry in entries
        }

    def allows(self, answer: Answer, shape: Shape, *, method: str, rough: bool, halted: bool) -> bool:
        """Whether this may come for a request whose upstream does `shape`."""
        others = self.others | ENVOYS_OWN if rough else self.others
        if method == "POST" and "retry_policy" in self.options:
            others |= {507}  # the request does not fit the buffer for retries
        forced = self.forced
        bodiless = method == "HEAD" or answer.status in {204, 304}
        own_may_come = self.passes or halted or shape.status in forced
        if own_may_come and answer.status == shape.status:
            body, tail = (b"", False) if bodiless else (shape.body, shape.tail > 0)
            if answer.body == body and answer.trailers == tail:
                return True
        # Envoy's own answers are replaced as well where the filter sees them, by whatever was drawn.
        may_be_forced = answer.status != shape.status or others or self.options
        text = b"" if bodiless else forced.get(answer.status)
        if may_be_forced and answer.status in forced and answer.body == text and not answer.trailers:
            return True
        return answer.status in others


LEVEL = profile(spread(200, "10ms", 8), spread(503, "5ms"))
_MIXED = [spread(200, "20ms", 3), spread(404, "5ms"), spread(503, "5ms")]
_ATTEMPTS = profile(spread(200, "25ms", 2), spread(503, "25ms"), spread(203, "25ms"), **REWRITE)
_TRIES = frozenset({504})
PLACES = {
    "late": Place(always(200, "80ms")),
    "delay": Place(always(200, "8ms"), varies=True),
    "mixed": Place(profile(*_MIXED), varies=True),
    "any": Place(profile(*(spread(status, "20ms") for status in (200, 204, 304, 404, 500, 503)))),
    "rewrite": Place(profile(*_MIXED, **REWRITE)),
    "replace": Place(always(503, "5ms")),
    "replace-large": Place(profile(spread(503, "10ms", body=LARGE))),
    "rewrite-large": Place(profile(spread(503, "10ms", body=LARGE), **REWRITE)),
    "percent": Place(profile(*_MIXED, percent=50), passes=True),
    "load": Place({"load_based": _LOAD}),
    "level": Place(None, passes=True),
    "retry": Place(
        _ATTEMPTS, options={"retry_policy": _RETRY | {"per_try_timeout": "0.015s"}}, others=_TRIES
    ),
    "retry-reply": Place(profile(*_MIXED), options={"retry_policy": _RETRY}),
    "hedge": Place(
        _ATTEMPTS,
        # Envoy itself, with no filter at all, never ends some of them whose upstream cuts.
        options={
            "timeout": "2s",
            "retry_policy": _HEDGED | {"per_try_timeout": "0.01s"},
            "hedge_policy": {"hedge_on_per_try_timeout": True},
        },
        others=_TRIES | {BROKEN},
        uploads=False,
    ),
    "timeout": Place(
        profile(spread(200, "60ms", 2), spread(503, "60ms")),
        options={"timeout": "0.03s"},
        others=frozenset({BROKEN, 504}),
    ),
    "mirror": Place(
        profile(*_MIXED),
        options={"request_mirror_policies": [{"cluster": MIRROR}]},
    ),
    "redirect": Place(
        profile(response(302, "8ms"), percent=50),
        passes=True,
        options={"internal_redirect_policy": {"redirect_response_codes": [302]}},
        others=frozenset({302}),
    ),
    "expiring": Place(always(503, "10ms"), passes=True, lasts=0.1),
    "leave": Place(always(200, "30s")),
}
# What h2load asks for, and a gRPC service each.
CHEAP_PLACES = {
    "pass": Place({"responses": [response(200)], "percent": 0}, passes=True),
    "brief": Place(profile(spread(200, "2ms"))),
    "delay": Place(profile(spread(200, "10ms")), varies=True),
    "late": Place(always(200, "50ms")),
    "mixed": Place(profile(spread(200, "10ms", 9), spread(503, "5ms"))),
    "rewrite": Place(profile(spread(200, "10ms", 9), spread(503, "5ms"), **REWRITE)),
}
WEBSOCKET = Place(profile(spread(200, "20ms", 3), spread(503, "5ms")))


def _fault(place: Place, push: int) -> dict[str, Any]:
    deadline = datetime.now(UTC) + timedelta(seconds=place.lasts)
    config = (place.inject or {}) | {"label": f"push-{push}", "expires_at": deadline.isoformat()}
    if place.varies and push // 20 % 2:
        config["responses"] = [*config["responses"], _EXTRA]
    return config


def _route(match: dict[str, Any], cluster: str, place: Place, push: int) -> dict[str, Any]:
    if place.inject is None:
        enabled = {"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "config": {}}
        entry = route("/", cluster=cluster) | {"typed_per_filter_config": {"brownout": enabled}}
    else:
        entry = route("/", _fault(place, push), cluster=cluster, **place.options)
    return entry | {"match": match}


def routes(push: int) -> list[dict[str, Any]]:
    """All routes; each push changes labels and deadlines, now and then also behaviours."""
    found = [
        _route({"path": f"/{kind}/{name}"}, kind, place, push)
        for kind in KINDS
        for name, place in PLACES.items()
    ]
    found += [
        _route({"path": f"/{kind}/{name}"}, kind, place, push)
        for kind in CHEAP
        for name, place in CHEAP_PLACES.items()
    ]
    found += [_route({"prefix": f"/{name}.Soak/"}, GRPC, place, push) for name, place in CHEAP_PLACES.items()]
    found.append(_route({"path": "/websocket"}, "http1", WEBSOCKET, push))
    found.append(_route({"connect_matcher": {}}, "http1", WEBSOCKET, push))
    return found


def level(*, halted: bool, version: int) -> dict[str, Any]:
    """The filter-level configuration of a push."""
    entries = [{"match": {"prefix": f"/{kind}/level"}, **LEVEL} for kind in KINDS[version % 2 :]]
    return {"endpoints": entries, "diagnostic": version % 3 == 0, "halted": halted}
