"""`brownout serve`, once the control plane is known to be installed."""

import asyncio
import json
import logging
import resource
import sys
from pathlib import Path

from brownout.settings import Settings
from brownout.store import StoreError
from brownout_cli.addresses import Address, choose, listen
from brownout_cli.control_plane import ControlPlane, control_plane
from brownout_cli.errors import CliError
from brownout_cli.signals import stop_requested
from xds_server import ServerTls

_log = logging.getLogger(__name__)


def serve(http: Address, xds: Address, settings: Settings, *, as_json: bool) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        CliError: a port, the database or a certificate cannot be had.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Every Envoy and every reader of events is an open file; the usual 1,024 end near a thousand of them.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_serve(http, xds, settings, as_json=as_json))


async def _serve(http: Address, xds: Address, settings: Settings, *, as_json: bool) -> None:
    tls, poll_seconds = _tls(settings), settings.poll / 1e9
    with stop_requested() as stop, listen(http, "--http") as listener:
        xds = choose(xds, "--xds")
        try:
            async with control_plane(
                settings.database, listener, xds, poll_seconds=poll_seconds, tls=tls
            ) as running:
                _warn_if_open(xds, tls)
                _announce(running, as_json=as_json)
                await until(stop, running.http_task)
        except (StoreError, OSError) as error:
            raise CliError(str(error)) from error


def _tls(settings: Settings) -> ServerTls | None:
    if settings.xds_cert is None or settings.xds_key is None:
        return None
    ca = settings.xds_client_ca
    return ServerTls(Path(settings.xds_cert), Path(settings.xds_key), None if ca is None else Path(ca))


def _warn_if_open(xds: Address, tls: ServerTls | None) -> None:
    """Say what others can do who reach the port of the Envoys."""
    if xds.is_loopback or (tls is not None and tls.client_ca is not None):
        return
    missing = "plain text (--xds-cert, --xds-key, --xds-client-ca)" if tls is None else "no --xds-client-ca"
    _log.warning("xDS on %s with %s: who reaches it can read every fleet's configuration", xds, missing)


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
