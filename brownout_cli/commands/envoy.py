"""`brownout envoy`, `bootstrap` and `module-path`: what a host that runs Envoy needs."""

import json
import os
import sys
from typing import Annotated, Any

import typer
from ruamel.yaml import YAML

import filter_runtime
from brownout_cli.addresses import Address, as_address
from brownout_cli.bootstrap import EXAMPLE, Example, bootstrap
from brownout_cli.commands import options, tls_options
from brownout_cli.envoy_binary import find_envoy

SEARCH_PATH = "ENVOY_DYNAMIC_MODULES_SEARCH_PATH"

Admin = Annotated[
    Address,
    typer.Option(
        "--admin", parser=as_address, metavar="HOST:PORT", help="Where Envoy's admin interface listens."
    ),
]
_ADMIN = Address("127.0.0.1", 9901)


def envoy(
    context: typer.Context,
    fleet: options.Fleet,
    xds: options.Xds,
    node_id: options.NodeId,
    protocol: options.XdsProtocol = "delta",
    admin: Admin = _ADMIN,
    locality: options.Locality = "",
    metadata: options.Metadata = None,
    xds_ca: tls_options.Ca = None,
    xds_client_cert: tls_options.ClientCert = None,
    xds_client_key: tls_options.ClientKey = None,
    xds_server_name: tls_options.ServerName = None,
    xds_secrets: tls_options.Secrets = None,
    envoy_path: options.EnvoyPath = None,
) -> None:
    """Run an Envoy of a fleet here, in the place of this process.

    The fleet's mode is gateway: in the others an Envoy has a configuration of its own (brownout bootstrap).
    Arguments after -- go to Envoy (for example: -- --concurrency 2 --log-level warning).
    """
    node = options.identity(node_id, fleet, locality, metadata)
    tls = tls_options.xds_tls(xds_ca, xds_client_cert, xds_client_key, xds_server_name, xds_secrets)
    binary = str(find_envoy(envoy_path))
    if tls is not None:
        tls_options.check_files(tls)
        tls = tls_options.with_own_folder(tls)
        tls_options.write_secrets(tls)
    config = bootstrap(node, xds, protocol=protocol, tls=tls, admin=admin)
    command = [binary, "--config-yaml", json.dumps(config), "--disable-hot-restart", *context.args]
    sys.stdout.flush()
    os.execve(binary, command, envoy_environment())  # noqa: S606 - so that signals reach Envoy itself


def envoy_environment() -> dict[str, str]:
    """This process's environment, with the one variable that lets an Envoy find the module."""
    return os.environ | {SEARCH_PATH: str(filter_runtime.module_path())}


def print_bootstrap(
    fleet: options.Fleet,
    xds: options.Xds,
    node_id: options.NodeId,
    mode: options.FleetMode = "gateway",
    protocol: options.XdsProtocol = "delta",
    admin: Admin = _ADMIN,
    locality: options.Locality = "",
    metadata: options.Metadata = None,
    xds_ca: tls_options.Ca = None,
    xds_client_cert: tls_options.ClientCert = None,
    xds_client_key: tls_options.ClientKey = None,
    xds_server_name: tls_options.ServerName = None,
    xds_secrets: tls_options.Secrets = None,
    listen: Annotated[
        Address,
        typer.Option(
            "--listen",
            parser=as_address,
            metavar="HOST:PORT",
            help="Where the example's listener is (modes routes and filter).",
        ),
    ] = EXAMPLE.listen,
    upstream: Annotated[
        Address,
        typer.Option(
            "--upstream",
            parser=as_address,
            metavar="HOST:PORT",
            help="Where the example's cluster leads to (mode filter).",
        ),
    ] = EXAMPLE.upstream,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the Envoy configuration that connects an Envoy to the control plane.

    It is complete in mode gateway. In modes routes and filter, the listener and the cluster are examples of
    what your own configuration has; the parts named brownout are what to add to it.
    """
    node = options.identity(node_id, fleet, locality, metadata)
    tls = tls_options.xds_tls(xds_ca, xds_client_cert, xds_client_key, xds_server_name, xds_secrets)
    if tls is not None:
        tls_options.write_secrets(tls)
    config = bootstrap(
        node, xds, mode=mode, protocol=protocol, tls=tls, admin=admin, example=Example(listen, upstream)
    )
    if as_json:
        sys.stdout.write(json.dumps(config, indent=2) + "\n")
    else:
        _write_yaml(config)


def _write_yaml(config: dict[str, Any]) -> None:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 1000
    # Each part is written out, so that it can be copied alone.
    yaml.representer.ignore_aliases = lambda _: True
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # ruamel hints None
    yaml.dump(config, sys.stdout)


def module_path(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the folder of the module, for Envoy's ENVOY_DYNAMIC_MODULES_SEARCH_PATH."""
    path = str(filter_runtime.module_path())
    sys.stdout.write((json.dumps({"module_path": path}) if as_json else path) + "\n")
