"""Options of TLS between an Envoy and the control plane: the Envoy's side."""

import hashlib
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from brownout_cli.bootstrap_tls import XdsTls
from brownout_cli.errors import CliError

Ca = Annotated[
    Path | None,
    typer.Option(
        "--xds-ca", metavar="FILE", help="Speak TLS to a control plane whose certificate this CA has signed."
    ),
]
ClientCert = Annotated[
    Path | None, typer.Option("--xds-client-cert", metavar="FILE", help="The Envoy's own certificate.")
]
ClientKey = Annotated[
    Path | None, typer.Option("--xds-client-key", metavar="FILE", help="The key of --xds-client-cert.")
]
ServerName = Annotated[
    str | None,
    typer.Option(
        "--xds-server-name",
        metavar="NAME",
        show_default="the hosts of --xds",
        help="A name that the control plane's certificate must have.",
    ),
]
Secrets = Annotated[
    Path | None,
    typer.Option(
        "--xds-secrets",
        metavar="DIR",
        help="For two small files by which Envoy follows certificates that are replaced.",
    ),
]


def xds_tls(
    ca: Path | None,
    client_cert: Path | None,
    client_key: Path | None,
    server_name: str | None,
    secrets: Path | None,
) -> XdsTls | None:
    """Put the options together; None when TLS is not wanted.

    Raises:
        typer.BadParameter: one of them needs another.
    """
    if (client_cert is None) != (client_key is None):
        given, missing = ("cert", "key") if client_key is None else ("key", "cert")
        raise typer.BadParameter(f"needs --xds-client-{missing}", param_hint=f"--xds-client-{given}")
    if ca is None:
        others = {"client-cert": client_cert, "server-name": server_name, "secrets": secrets}
        for name, value in others.items():
            if value is not None:
                raise typer.BadParameter(
                    "needs --xds-ca: without it the control plane is not verified", param_hint=f"--xds-{name}"
                )
        return None
    client = (
        None if client_cert is None or client_key is None else (client_cert.absolute(), client_key.absolute())
    )
    return XdsTls(ca.absolute(), client, server_name, None if secrets is None else secrets.absolute())


def check_files(tls: XdsTls) -> None:
    """Make sure that Envoy will find its files; its own message would come late, in its log.

    Raises:
        CliError: one cannot be read.
    """
    cert, key = tls.client or (None, None)
    named = {"--xds-ca": tls.ca, "--xds-client-cert": cert, "--xds-client-key": key}
    for option, path in named.items():
        if path is not None:
            try:
                path.open("rb").close()
            except OSError as error:
                raise CliError(f"{path} cannot be read ({option}): {error.strerror}") from error


def write_secrets(tls: XdsTls) -> None:
    """Write the files of `tls.secrets`, if it has a folder.

    Raises:
        CliError: they cannot be written.
    """
    if tls.secrets is None:
        return
    try:
        tls.secrets.mkdir(parents=True, exist_ok=True)
        for name, content in tls.secret_files().items():
            with tempfile.NamedTemporaryFile("w", dir=tls.secrets, delete=False) as file:
                file.write(json.dumps(content, indent=2) + "\n")
                os.fchmod(file.fileno(), 0o644)  # nothing in it is secret: Envoy may run as someone else
            Path(file.name).replace(tls.secrets / name)
    except OSError as error:
        raise CliError(f"cannot write to {tls.secrets} (--xds-secrets): {error.strerror}") from error


def with_own_folder(tls: XdsTls) -> XdsTls:
    """Give it a folder of this user's, the same one for the same files, unless it has one.

    Raises:
        CliError: the folder belongs to somebody else.
    """
    if tls.secrets is not None:
        return tls
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    owned = Path(base) / f"brownout-{os.geteuid()}"
    content = json.dumps(tls.secret_files(), sort_keys=True).encode()
    try:
        owned.mkdir(mode=0o700, exist_ok=True)
        found = owned.lstat()
    except OSError as error:
        raise CliError(f"cannot make {owned}: {error.strerror}; name a folder with --xds-secrets") from error
    if found.st_uid != os.geteuid() or owned.is_symlink() or found.st_mode & 0o022:
        raise CliError(f"others can write to {owned}: name a folder with --xds-secrets")
    return replace(tls, secrets=owned / hashlib.sha256(content).hexdigest()[:16])
