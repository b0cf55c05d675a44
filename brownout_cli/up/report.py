"""Configured against observed: per endpoint and status the share and quantiles of latency."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from rich.table import Table

from brownout.profile import Behavior, Response
from brownout_cli.up.traffic import Seen
from filter_runtime import simulate

QUANTILES = (0.50, 0.90, 0.99)
_SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint and status.

    Attributes:
        endpoint: its name.
        status: the HTTP status.
        configured_share: 0 to 1; None when not every response is the fault's.
        observed_share: 0 to 1.
        configured: seconds at `QUANTILES`; None when not every response is the fault's.
        observed: seconds at `QUANTILES`; None when the status was not seen.
        count: responses seen.
    """

    endpoint: str
    status: int
    configured_share: float | None
    observed_share: float
    configured: tuple[float, ...] | None
    observed: tuple[float, ...] | None
    count: int


def compare(faults: Mapping[str, Behavior | None], seen: Iterable[Seen]) -> list[Row]:
    """Make the rows: endpoints in the order of `faults`, statuses ascending.

    Args:
        faults: what each endpoint injects into every response; None when there is no such thing.
        seen: the responses.
    """
    latencies: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in seen:
        latencies[one.endpoint][one.status].append(one.seconds)
    rows = []
    for endpoint, behavior in faults.items():
        configured = _configured(behavior)
        total = sum(map(len, latencies[endpoint].values()))
        for status in sorted({*configured, *latencies[endpoint]}):
            share, quantiles = configured.get(status, (None, None))
            observed = latencies[endpoint].get(status, [])
            rows.append(
                Row(
                    endpoint=endpoint,
                    status=status,
                    configured_share=share,
                    observed_share=len(observed) / total if total else 0.0,
                    configured=quantiles,
                    observed=_quantiles(observed) if observed else None,
                    count=len(observed),
                )
            )
    return rows


def _configured(behavior: Behavior | None) -> dict[int, tuple[float, tuple[float, ...]]]:
    """Share and quantiles by status, at the small load of a first look; a status may have several entries."""
    if behavior is None:
        return {}
    load = behavior.load_based
    responses = load.healthy.responses if load is not None else behavior.responses or ()
    total = sum(response.resolution for response in responses)
    shares: dict[int, float] = defaultdict(float)
    samples: dict[int, list[float]] = defaultdict(list)
    for response in responses:
        share = response.resolution / total
        shares[response.status] += share
        samples[response.status] += _spread(response, max(1, round(share * _SAMPLES)))
    return {status: (share, _quantiles(samples[status])) for status, share in shares.items()}


def _spread(response: Response, count: int) -> list[float]:
    """That many evenly spread latencies in seconds: one stateful cycle, drawn by the engine."""
    alone = Behavior(responses=(response.model_copy(update={"resolution": count}),))
    _, seconds = simulate(alone, count)
    return cast("list[float]", seconds.tolist())


def _quantiles(seconds: Sequence[float]) -> tuple[float, ...]:
    return tuple(np.quantile(seconds, QUANTILES).tolist())


def as_table(rows: Iterable[Row]) -> Table:
    """The rows for people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("endpoint", no_wrap=True)
    table.add_column("status")
    table.add_column("share (%)", justify="right", no_wrap=True)
    for quantile in QUANTILES:
        table.add_column(f"p{quantile * 100:g} (ms)", justify="right", no_wrap=True)
    table.add_column("requests", justify="right")
    table.caption = "configured / observed"
    table.caption_justify = "left"
    before = None
    for row in rows:
        shares = _pair(row.configured_share, row.observed_share, 100, ".1f")
        latencies = [
            _pair(
                row.configured[index] if row.configured else None,
                row.observed[index] if row.observed else None,
                1000,
                ".0f",
            )
            for index in range(len(QUANTILES))
        ]
        name = row.endpoint if row.endpoint != before else ""
        table.add_row(name, str(row.status), shares, *latencies, str(row.count))
        before = row.endpoint
    return table


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows for programs; latencies in seconds by quantile."""
    return [asdict(row) | {"quantiles": QUANTILES} for row in rows]


def _pair(configured: float | None, observed: float | None, scale: int, form: str) -> str:
    return " / ".join(
        "-" if value is None else format(value * scale, form) for value in (configured, observed)
    )
