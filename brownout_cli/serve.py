"""`brownout serve`, once the control plane is known to be installed."""

import asyncio
import json
import logging
import sys

from brownout.store import StoreError
from brownout_cli.addresses import Address, choose, listen
from brownout_cli.control_plane import ControlPlane, control_plane
from brownout_cli.errors import CliError
from brownout_cli.signals import stop_requested


def serve(http: Address, xds: Address, database: str, *, poll_seconds: float, as_json: bool) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        CliError: a port or the database cannot be had.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_serve(http, xds, database, poll_seconds=poll_seconds, as_json=as_json))


async def _serve(http: Address, xds: Address, database: str, *, poll_seconds: float, as_json: bool) -> None:
    with stop_requested() as stop, listen(http, "--http") as listener:
        xds = choose(xds, "--xds")
        try:
            async with control_plane(database, listener, xds, poll_seconds=poll_seconds) as running:
                _announce(running, as_json=as_json)
                await until(stop, running.http_task)
        except (StoreError, OSError) as error:
            raise CliError(str(error)) from error


def _announce(running: ControlPlane, *, as_json: bool) -> None:
    rest, xds = f"http://{running.rest}", str(running.xds)
    if as_json:
        sys.stdout.write(json.dumps({"rest": rest, "xds": xds}) + "\n")
    else:
        sys.stdout.write(f"REST  {rest}/api/v1\nxDS   {xds}\n")
    sys.stdout.flush()


async def until(stop: asyncio.Event, *tasks: "asyncio.Task[None]") -> None:
    """Wait for `stop`; a task that ends before it has failed."""
    stopping = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    for task in done - {stopping}:
        task.result()
