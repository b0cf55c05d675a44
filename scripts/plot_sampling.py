"""Makes the picture of `docs/explanation/sampling.md`: `python scripts/plot_sampling.py [FILE]`.

Everything in it is drawn by the engine that Envoy loads, with fixed seeds. FILE may be an SVG or a PNG.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from filter_runtime import simulate

DISTRIBUTION = {"p0": "10ms", "p50": "20ms", "p90": "45ms", "p99": "120ms", "p100": "160ms"}
QUANTILES = [0, 50, 90, 99, 100]
MILLISECONDS = [10, 20, 45, 120, 160]
DRAWS = 200
COLOURS = {"stateful": "#1b6ca8", "stateless": "#c8102e", "load": "#888888"}


def flat(status: int, threshold: int, latency: str) -> dict[str, Any]:
    """Return a tier with one latency."""
    entry = {"status": status, "resolution": 1, "distribution": {"p0": latency, "p100": latency}}
    return {"threshold_in_flight": threshold, "responses": [entry]}


UNDER_LOAD = {
    "load_based": {
        "healthy": flat(200, 10, "20ms"),
        "tipping_point": flat(200, 30, "20ms"),
        "grey_zone": {
            "penalty_base": "40ms",
            "spike_threshold": 0.7,
            "spike_penalty_duration": "4s",
            "spike_penalty_multiplier": 3,
            "recovery_rate": 0.8,
        },
    }
}


def plot_modes(axes: Axes) -> None:
    """Plot one cycle of each mode against what is configured."""
    axes.plot(QUANTILES, MILLISECONDS, color="black", linewidth=1, label="configured")
    for mode in ("stateless", "stateful"):
        entry = {"status": 200, "resolution": DRAWS, "distribution": DISTRIBUTION}
        profile = {"responses": [entry], "probability_distribution": mode}
        _, latencies = simulate(profile, DRAWS, seed=11)
        places = (np.arange(DRAWS) + 0.5) / DRAWS * 100
        axes.plot(places, np.sort(latencies) * 1e3, ".", markersize=3, color=COLOURS[mode], label=mode)
    axes.set(xlabel="percentile", ylabel="latency, ms", title=f"{DRAWS} draws, resolution {DRAWS}")
    axes.legend(frameon=False)


def plot_recovery(axes: Axes) -> None:
    """Plot the latency of requests while the load rises beyond the spike threshold, drops, and stays."""
    seconds = np.arange(0, 12, 0.02)
    load = np.interp(seconds, [0, 2, 3, 4, 4.02, 12], [5, 22, 28, 28, 18, 18]).round().astype(int)
    _, latencies = simulate(UNDER_LOAD, len(seconds), load, interval=0.02)
    axes.plot(seconds, latencies * 1e3, color=COLOURS["stateful"], linewidth=1.2, label="latency, ms")
    axes.plot(seconds, load, color=COLOURS["load"], linewidth=1, label="requests in flight")
    axes.axhline(24, color=COLOURS["load"], linewidth=0.6, linestyle=":")
    axes.set(xlabel="seconds", title="a spike and its recovery", ylim=(0, None))
    axes.legend(frameon=False)


def main() -> None:
    """Draw and write the picture."""
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "brownout", "font.size": 9, "axes.spines.top": False}
    mpl.rcParams |= {"axes.spines.right": False}
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend has been chosen

    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/sampling.svg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    plot_modes(left)
    plot_recovery(right)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
