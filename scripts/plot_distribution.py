"""Makes the README's picture from a real run: `python scripts/plot_distribution.py [FILE]`.

Starts `brownout up` on free ports, gives an endpoint a profile, sends 6,000 requests through Envoy, and plots
what was configured against what a client observed. FILE may be an SVG or a PNG.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import matplotlib as mpl
import numpy as np

from brownout_cli.addresses import Address
from brownout_cli.up.traffic import Seen, send_traffic

REQUESTS = 6_000
LANES = 24
SPEC = {
    "responses": [
        {
            "status": 200,
            "resolution": 900,
            "distribution": {
                "p0": "30ms",
                "p50": "60ms",
                "p75": "80ms",
                "p90": "140ms",
                "p99": "320ms",
                "p100": "400ms",
            },
        },
        {
            "status": 503,
            "resolution": 100,
            "distribution": {"p0": "150ms", "p50": "220ms", "p90": "260ms", "p100": "300ms"},
        },
    ]
}
COLOURS = {200: "#1b6ca8", 503: "#c8102e"}
POINTS = np.linspace(0.5, 99.5, 67)


def main() -> None:
    """Run, measure, plot."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/configured-observed.svg")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        ports = [f"--{name}-port=0" for name in ("http", "xds", "envoy", "admin", "upstream")]
        command = [
            sys.executable,
            "-m",
            "brownout_cli",
            "up",
            "--json",
            "--requests=0",
            "--data-dir",
            folder,
            *ports,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                plot(measure(json.loads(process.stdout.readline())["urls"]), target)
            finally:
                process.terminate()
    print(f"written to {target}")


def measure(urls: dict[str, str]) -> list[Seen]:
    """Give the endpoint `pay` the profile, and ask for it many times."""
    with httpx.Client(base_url=urls["rest"] + "/", trust_env=False) as rest:
        rest.put("profiles/slow-checkout", json={"spec": SPEC}).raise_for_status()
        while not rest.get("fleets/edge/nodes").json()["converged"]:
            pass
    envoy = urlsplit(urls["envoy"])
    return asyncio.run(
        send_traffic(
            Address(str(envoy.hostname), int(envoy.port or 0)),
            [("pay", "/pay")],
            REQUESTS,
            lanes=LANES,
            advance=lambda: None,
        )
    )


def plot(seen: list[Seen], target: Path) -> None:
    """Latency by percentile for each status, and the shares of the statuses."""
    mpl.use("agg")
    # The same run gives the same file: no date, no random ids.
    mpl.rcParams.update(
        {"svg.hashsalt": "brownout", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    import matplotlib.pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    figure, (curves, shares) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[4, 1], layout="constrained")
    weight = sum(response["resolution"] for response in SPEC["responses"])
    for place, response in enumerate(SPEC["responses"]):
        status, colour = response["status"], COLOURS[response["status"]]
        observed = [each.seconds * 1000 for each in seen if each.status == status]
        keys = [float(key.removeprefix("p")) for key in response["distribution"]]
        values = [float(value.removesuffix("ms")) for value in response["distribution"].values()]
        curves.plot(keys, values, color=colour, linewidth=5, alpha=0.3, label=f"{status} configured")
        curves.plot(
            POINTS,
            np.percentile(observed, POINTS),
            ".",
            color=colour,
            markersize=4,
            label=f"{status} observed",
        )
        configured = 100 * response["resolution"] / weight
        shares.bar(place - 0.2, configured, 0.4, color=colour, alpha=0.3)
        shares.bar(place + 0.2, 100 * len(observed) / len(seen), 0.4, color=colour)
        shares.text(
            place,
            max(configured, 3) + 1,
            f"{configured:.0f} / {100 * len(observed) / len(seen):.1f}",
            ha="center",
        )
    curves.set(
        xlabel="percentile",
        ylabel="latency (ms)",
        title=f"/pay through Envoy, {len(seen):,} requests",
        xlim=(0, 100),
    )
    curves.set_ylim(bottom=0)
    curves.grid(alpha=0.3)
    curves.legend(frameon=False)
    shares.set(
        title="share (%)", xticks=[0, 1], xticklabels=[str(each["status"]) for each in SPEC["responses"]]
    )
    figure.savefig(target, dpi=110, metadata={"Date": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
