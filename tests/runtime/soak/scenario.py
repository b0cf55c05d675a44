"""What the soak runs through Envoy: paths, what each may answer, and the configurations that are pushed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.runtime.discovery import discovered_filter, with_routes_from
from tests.runtime.profiles import always, profile, response
from tests.support import Behaviour, cluster, route

CLUSTERS = {"http1": "upstream", "http2": "upstream-http2"}
BUFFER = 32_768
# Envoy crashes when other streams of a client's connection have filled it at the moment when a response is
# let go: where connections are shared, the listener has to have room.
SHARED, ROOM = "shared", 64 * 1024 * 1024
LARGE = 100_000
FORCED = b"fault filter abort: 503\n"
OWN = b"ok\n"
REPLY = b"x" * LARGE
TRAILERS = (("x-end", "1"),)
TRAILING = Behaviour(size=LARGE, pause=0.003, trailers=TRAILERS)
EARLY = Behaviour(status=401, body=b"who are you?\n", early=True)
# More than a buffer, less than a window: Envoy itself resets an early answer that the client lets wait.
EARLY_LARGE = EARLY.with_changes(size=50_000)
REWRITE = "upstream_response"
RETRY = {
    "retry_on": "5xx",
    "num_retries": 2,
    "per_try_timeout": "0.015s",
    "retry_back_off": {"base_interval": "0.001s", "max_interval": "0.002s"},
}
ATTEMPTS = [
    {"status": 503, "resolution": 5, "distribution": {"p0": "0s", "p100": "20ms"}},
    {"status": 200, "resolution": 5, "distribution": {"p0": "0s", "p100": "20ms"}},
]
MIXED = [
    {"status": 200, "resolution": 900, "distribution": {"p0": "0s", "p99": "8ms", "p100": "20ms"}},
    {"status": 503, "resolution": 100, "distribution": {"p0": "1ms", "p100": "10ms"}},
]


@dataclass(frozen=True)
class Place:
    """One path, for either kind of upstream.

    Attributes:
        upstream: what the upstream does.
        inject: the profile.
        answers: what may come, by status: the whole body, or None for any; status 0: the response breaks off.
        options: of Envoy's route.
        varies: whether pushes change `percent` and the behaviour; `answers` has the upstream's own then.
        lasts: seconds after a push that the fault expires.
    """

    upstream: Behaviour
    inject: dict[str, Any]
    answers: Mapping[int, bytes | None]
    options: Mapping[str, Any] = field(default_factory=dict)
    varies: bool = False
    lasts: float = 3600.0

    @property
    def due(self) -> set[int]:
        """What has to come now and then; how a response is cut shows in more than one way."""
        return {0} if self.upstream.reset == "after" else set(self.answers)

    @property
    def own(self) -> tuple[int, bytes]:
        """Status and body of the upstream's own answer."""
        size = self.upstream.size
        return self.upstream.status, self.upstream.body if size is None else filler(size)


def filler(size: int) -> bytes:
    """What the upstream sends when only a size is said."""
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def _rewritten(latency: str, **local: Any) -> dict[str, Any]:
    return profile(response(503, latency, **local), override=REWRITE)


PLACES = {
    "mixed": Place(Behaviour(), profile(*MIXED), {200: OWN, 503: FORCED}, varies=True),
    "large": Place(Behaviour(size=LARGE), always(200, "5ms"), {200: filler(LARGE)}, varies=True),
    "trailing": Place(TRAILING, always(200, "8ms"), {200: filler(LARGE)}),
    "slow": Place(Behaviour(delay=0.02), always(200, "10ms"), {200: OWN}),
    "replace": Place(TRAILING, always(503, "5ms"), {503: FORCED}),
    "rewrite": Place(Behaviour(), _rewritten("3ms"), {503: FORCED}),
    "rewrite-trailing": Place(TRAILING, _rewritten("5ms"), {503: FORCED}),
    "rewrite-large": Place(Behaviour(), _rewritten("3ms", body=REPLY.decode()), {503: REPLY}),
    "retry": Place(
        Behaviour(),
        profile(*ATTEMPTS, override=REWRITE),
        {200: OWN, 503: FORCED, 504: None},
        {"retry_policy": RETRY},
    ),
    "hedge": Place(
        Behaviour(),
        profile(*ATTEMPTS, override=REWRITE),
        {200: OWN, 503: FORCED},
        {"retry_policy": RETRY, "hedge_policy": {"hedge_on_per_try_timeout": True}},
    ),
    "timeout": Place(Behaviour(), always(200, "5s"), {504: None}, {"timeout": "0.01s"}),
    "expiring": Place(Behaviour(), always(503, "10ms"), {200: OWN, 503: FORCED}, lasts=0.05),
    "cut-before": Place(Behaviour(reset="before"), always(200, "5ms"), {503: None}),
    "cut-after": Place(
        Behaviour(body=REPLY, reset="after"), always(200, "5ms"), {0: None, 502: None, 503: None}
    ),
    "early": Place(EARLY, always(401, "40ms"), {401: EARLY.body}),
    "early-large": Place(EARLY_LARGE, always(401, "40ms"), {401: filler(50_000)}),
    "early-replace": Place(EARLY, always(503, "40ms"), {503: FORCED}),
    "early-rewrite": Place(EARLY, _rewritten("40ms"), {503: FORCED}),
    "leave": Place(Behaviour(), always(200, "30s"), {}),
}
EXTRA = {"status": 200, "resolution": 1, "distribution": {"p0": "0s", "p100": "1ms"}}


def upstream_paths() -> dict[str, Behaviour]:
    """What the upstream does, by path."""
    return {f"/{kind}/{name}": place.upstream for kind in CLUSTERS for name, place in PLACES.items()}


def routes(push: int) -> list[dict[str, Any]]:
    """The routes of a push: each changes labels, deadlines and percent, some also behaviours."""
    return [
        route(f"/{kind}/{name}", _fault(place, kind, push), cluster=CLUSTERS[kind], **place.options)
        | {"match": {"path": f"/{kind}/{name}"}}
        for kind in CLUSTERS
        for name, place in PLACES.items()
    ]


def _fault(place: Place, kind: str, push: int) -> dict[str, Any]:
    deadline = datetime.now(UTC) + timedelta(seconds=place.lasts)
    binding = {"label": f"push-{push}", "expires_at": deadline.isoformat(), "upstream_protocol": kind}
    config = place.inject | binding
    if place.varies:
        config["percent"] = 80 + push % 21
        if push // 20 % 2:
            config["responses"] = [*config["responses"], EXTRA]
    return config


def bootstrap(upstream_port: int, routes_file: Path, filter_file: Path) -> dict[str, Any]:
    """Both clusters with the filter that `filter_file` halts, all buffers small but those of `SHARED`."""
    config = with_routes_from(routes_file, upstream_port)
    resources = config["static_resources"]
    filters: Sequence[dict[str, Any]] = [discovered_filter(filter_file)]
    resources["clusters"] = [
        cluster(upstream_port, name=name, http2=kind == "http2", filters=filters)
        for kind, name in CLUSTERS.items()
    ]
    for each in [*resources["clusters"], *resources["listeners"]]:
        each["per_connection_buffer_limit_bytes"] = BUFFER
    roomy = resources["listeners"][0] | {"name": SHARED, "per_connection_buffer_limit_bytes": ROOM}
    resources["listeners"].append(roomy)
    return config
