"""`brownout up`, once the control plane is known to be installed."""

import asyncio
import json
import logging
import sys
from collections.abc import Coroutine, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from brownout.store import StoreError
from brownout_cli.errors import CliError
from brownout_cli.signals import stop_requested
from brownout_cli.up import report
from brownout_cli.up.configuration import FLEET, UPSTREAM, shown_endpoints
from brownout_cli.up.parts import Running, Settings, everything
from brownout_cli.up.traffic import send_traffic

_LANES = 12
_PIPE_WIDTH = 200
_TRAFFIC_SECONDS = 60.0


def up(settings: Settings, *, once: bool, as_json: bool) -> None:
    """Run everything until SIGINT or SIGTERM, or (`once`) until the table is printed.

    Raises:
        CliError: something did not start, or a process ended by itself.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(_until_stopped(_run(settings, once=once, as_json=as_json)))


async def _until_stopped(work: Coroutine[None, None, None]) -> None:
    """Do the work, or end it in good order when a signal comes."""
    with stop_requested() as stop:
        task = asyncio.create_task(work)
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def _run(settings: Settings, *, once: bool, as_json: bool) -> None:
    try:
        async with everything(settings) as running:
            await _attended(running, _show(running, settings, once=once, as_json=as_json))
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error
    except StoreError as error:
        raise CliError(str(error)) from error


async def _attended(running: Running, work: Coroutine[None, None, None]) -> None:
    """Do the work while every part runs; the end of a part is an error."""
    task = asyncio.create_task(work)
    watching = [asyncio.create_task(child.watch()) for child in running.children]
    try:
        done, _ = await asyncio.wait(
            [task, *watching, running.plane.http_task], return_when=asyncio.FIRST_COMPLETED
        )
        for each in done:
            each.result()
    finally:
        for each in (task, *watching):
            each.cancel()
        await asyncio.wait([task, *watching])


async def _show(running: Running, settings: Settings, *, once: bool, as_json: bool) -> None:
    urls = _urls(running)
    if not as_json:
        _banner(urls, settings)
    rows = await _traffic(running, settings.requests, quiet=as_json)
    if as_json:
        sys.stdout.write(json.dumps({"urls": urls, "rows": report.as_json(rows)}) + "\n")
    elif rows:
        width = None if sys.stdout.isatty() else _PIPE_WIDTH
        Console(width=width).print(report.as_table(rows))
    else:
        sys.stdout.write(
            f"nothing to show: no endpoint of the fleet {FLEET} leads to the upstream {UPSTREAM}\n"
        )
    sys.stdout.flush()
    if not once:
        if not as_json:
            sys.stdout.write("\nCtrl-C ends everything.\n")
            sys.stdout.flush()
        await asyncio.Event().wait()


def _urls(running: Running) -> dict[str, str]:
    return {
        "rest": f"http://{running.plane.rest}/api/v1",
        "envoy": f"http://{running.listener}",
        "envoy_admin": f"http://{running.admin}",
        "xds": str(running.plane.xds),
    }


def _banner(urls: dict[str, str], settings: Settings) -> None:
    sys.stdout.write(
        "Brownout is up, on this machine only (loopback), and asks for no token.\n\n"
        f"  REST         {urls['rest']}\n"
        f"  Envoy        {urls['envoy']}        try: curl -i {urls['envoy']}/pay\n"
        f"  Envoy admin  {urls['envoy_admin']}\n"
        f"  xDS          {urls['xds']}\n"
        f"  data, logs   {settings.data_dir}\n\n"
    )
    sys.stdout.flush()


async def _traffic(running: Running, each: int, *, quiet: bool) -> Sequence[report.Row]:
    shown = shown_endpoints(running.plane.service.catalog)
    if not shown or not each:
        return []
    paths = [(name, endpoint.path) for name, endpoint in shown.items()]
    console = Console(stderr=True)
    columns = (TextColumn("a little traffic"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("", total=each * len(paths))
        try:
            seen = await send_traffic(
                running.listener,
                paths,
                each,
                lanes=_LANES,
                within=_TRAFFIC_SECONDS,
                advance=lambda: bar.advance(task),
            )
        except* (OSError, ValueError) as errors:
            raise CliError(f"Envoy does not answer on {running.listener}: {errors.exceptions[0]}") from errors
    return report.compare({name: endpoint.behavior for name, endpoint in shown.items()}, seen)
