"""`python -m benchmarks [NAME …] [--json FILE] [--slow]`: run them, print a table, write JSON.

A benchmark is a module of this folder with `run(*, slow: bool) -> Iterable[Result]`; its docstring's
first line is its title. `slow` asks for the sizes that take minutes. Exit code 1 when a limit is exceeded.
"""

import argparse
import importlib
import json
import pkgutil
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.result import Result

RESULTS = Path(__file__).parent / "results" / "latest.json"
_NOT_BENCHMARKS = {"__main__", "result"}


def names() -> list[str]:
    """The benchmarks there are."""
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.ispkg)
    return sorted(name for name in modules if name not in _NOT_BENCHMARKS and not name.startswith("_"))


def _known(name: str) -> str:
    # `choices` would refuse the empty list that no name at all gives.
    if name not in names():
        raise argparse.ArgumentTypeError(f"no benchmark {name!r}; there are {', '.join(names())}")
    return name


def as_table(title: str, results: Sequence[Result]) -> Table:
    """One benchmark's results for people."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in ("what", "value", "unit", "must reach", ""):
        table.add_column(column, justify="right" if column in {"value", "must reach"} else "left")
    for result in results:
        limit = "" if result.limit is None else f"{'≥' if result.at_least else '≤'} {result.limit:,.6g}"
        verdict = {None: "", True: "[green]reached[/green]", False: "[red]missed[/red]"}[result.reached]
        table.add_row(result.name, f"{result.value:,.4g}", result.unit, limit, verdict)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Brownout.")
    parser.add_argument("name", nargs="*", type=_known, metavar="NAME", help=", ".join(names()))
    parser.add_argument(
        "--json", type=Path, default=RESULTS, metavar="FILE", help="where to write the numbers"
    )
    parser.add_argument("--slow", action="store_true", help="the sizes that take minutes")
    chosen = parser.parse_args(arguments)
    console = Console()
    document: dict[str, object] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
    }
    missed = False
    for name in chosen.name or names():
        module = importlib.import_module(f"benchmarks.{name}")
        results = list(module.run(slow=chosen.slow))
        console.print(as_table((module.__doc__ or name).splitlines()[0], results))
        document[name] = [asdict(result) | {"reached": result.reached} for result in results]
        missed = missed or any(result.reached is False for result in results)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(document, indent=2) + "\n")
    console.print(f"written to {chosen.json}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
