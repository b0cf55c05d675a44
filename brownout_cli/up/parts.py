"""The parts that `brownout up` runs: control plane, sample upstream, Envoy."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import migrations
from brownout_cli.addresses import Address, choose, listen
from brownout_cli.bootstrap import NodeIdentity, bootstrap
from brownout_cli.commands.envoy import envoy_environment
from brownout_cli.control_plane import ControlPlane, control_plane
from brownout_cli.envoy_binary import find_envoy
from brownout_cli.errors import CliError
from brownout_cli.up import sample
from brownout_cli.up.configuration import FLEET, NODE, configure, stored_listener
from brownout_cli.up.processes import Child

_LOOPBACK = "127.0.0.1"
_START_SECONDS = 30.0
_POLL_SECONDS = 0.02
# The control plane looks into what was rejected, and Envoy may reject more.
_FINDING_SECONDS = 1.0
# Envoy's last line before it serves: listeners and routes have come from the control plane.
_ENVOY_READY = "all dependencies initialized. starting workers"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command's options say; a port of 0 is any free one.

    Attributes:
        data_dir: for the database and the logs.
        http_port: REST.
        xds_port: where Envoy connects.
        envoy_port: Envoy's listener; None: the stored one, or 10000.
        admin_port: Envoy's admin interface.
        upstream_port: the sample upstream.
        requests: for each endpoint of the table; none for 0.
        envoy: Envoy's executable; None: the installed one.
    """

    data_dir: Path
    http_port: int
    xds_port: int
    envoy_port: int | None
    admin_port: int
    upstream_port: int
    requests: int
    envoy: Path | None


@dataclass(frozen=True, slots=True)
class Running:
    """Everything, running.

    Attributes:
        plane: the control plane.
        listener: where Envoy accepts requests.
        admin: Envoy's admin interface.
        children: the other processes.
    """

    plane: ControlPlane
    listener: Address
    admin: Address
    children: tuple[Child, ...]


@asynccontextmanager
async def everything(settings: Settings) -> AsyncIterator[Running]:
    """Start everything, and end it when the block is left, Envoy first.

    Raises:
        CliError: a port is taken, there is no Envoy, or a process does not start.
        StoreError: the database cannot be used.
    """
    binary = find_envoy(settings.envoy)
    folder = settings.data_dir
    folder.mkdir(parents=True, exist_ok=True)
    database = str(folder / "brownout.db")
    async with AsyncExitStack() as stack:
        http = stack.enter_context(listen(Address(_LOOPBACK, settings.http_port), "--http-port"))
        xds = choose(Address(_LOOPBACK, settings.xds_port), "--xds-port")
        admin = choose(Address(_LOOPBACK, settings.admin_port), "--admin-port")
        upstream = choose(Address(_LOOPBACK, settings.upstream_port), "--upstream-port")
        await asyncio.to_thread(migrations.migrate, database)
        plane = await stack.enter_async_context(control_plane(database, http, xds))
        listener = _listener(plane, settings.envoy_port)
        await configure(plane.service, listener, upstream)

        command = [sys.executable, "-m", sample.__name__, upstream.host, str(upstream.port)]
        server = Child("the sample upstream", command, folder / "upstream.log")
        await server.start(sample.READY, _START_SECONDS)
        stack.push_async_callback(server.stop)

        config = bootstrap(NodeIdentity(NODE, FLEET), [plane.xds], admin=admin)
        command = [str(binary), "--config-yaml", json.dumps(config), "--disable-hot-restart"]
        envoy = Child("Envoy", command, folder / "envoy.log", envoy_environment())
        await envoy.start(_ENVOY_READY, _START_SECONDS)
        stack.push_async_callback(envoy.stop)
        await _converged(plane)
        yield Running(plane, listener, admin, (server, envoy))


async def _converged(plane: ControlPlane) -> None:
    """Wait until Envoy has acknowledged all that is configured now."""
    try:
        async with asyncio.timeout(_START_SECONDS):
            # A revision that changes nothing for Envoy is reached without any event of a node.
            while not _current(plane):
                if plane.status.converged(FLEET).rejecting:
                    await _tell_rejected(plane)
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise CliError(f"Envoy has not acknowledged the configuration in {_START_SECONDS:g} s") from error


async def _tell_rejected(plane: ControlPlane) -> NoReturn:
    await asyncio.sleep(_FINDING_SECONDS)
    rejected = [
        f"\n  {kind}: {(rejection.finding or rejection.text).strip()}"
        for node in plane.status.nodes(FLEET)
        for kind, rejection in node.rejected.items()
    ]
    raise CliError(f"Envoy has rejected the configuration:{''.join(rejected)}")


def _current(plane: ControlPlane) -> bool:
    reached = plane.status.converged(FLEET)
    return reached.converged and reached.nodes > 0 and reached.revision == plane.service.catalog.revision


def _listener(plane: ControlPlane, port: int | None) -> Address:
    stored = stored_listener(plane.service.catalog) or Address(_LOOPBACK, 10000)
    return choose(stored if port is None else Address(stored.host, port), "--envoy-port")
