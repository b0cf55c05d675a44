"""Options of TLS on both sides: what they become, and what is wrong with them."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brownout_cli.addresses import Address
from brownout_cli.bootstrap_tls import XdsTls
from migrations import migrate
from tests.cli.running import BROWNOUT, brownout, environment
from tests.support import MODULE_FOLDER, OLDER, REFERENCE, envoy_binary
from tests.support.certificates import Authority

XDS = ("--fleet", "edge", "--xds", "127.0.0.1:18000")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The options of an Envoy with certificates."""
    authority = Authority(tmp_path)
    issued = authority.issue("envoy", "envoy.test")
    return [
        *("--xds-ca", str(authority.certificate)),
        *("--xds-client-cert", str(issued.certificate), "--xds-client-key", str(issued.key)),
    ]


def context(*hosts: str, server_name: str | None = None) -> dict[str, Any]:
    """The TLS context of an Envoy that reaches the control plane by these hosts."""
    tls = XdsTls(Path("/ca.pem"), server_name=server_name)
    found: dict[str, Any] = tls.transport_socket([Address(host, 1) for host in hosts])["typed_config"]
    return found


@pytest.mark.parametrize(
    ("version", "mode", "secrets"),
    [
        *((version, "gateway", True) for version in (REFERENCE, *OLDER)),
        (REFERENCE, "filter", True),
        (REFERENCE, "gateway", False),
    ],
)
def test_envoy_takes_it(version: str, mode: str, secrets: bool, files: list[str], tmp_path: Path) -> None:
    """Every Envoy version accepts the printed configuration, and the files that it follows."""
    follow = ["--xds-secrets", str(tmp_path / "new" / "secrets")] if secrets else []
    answer = brownout("bootstrap", *XDS, "--mode", mode, *files, *follow)
    assert answer.returncode == 0, answer.stderr
    config = tmp_path / "envoy.yaml"
    config.write_text(answer.stdout)
    check = subprocess.run(
        [envoy_binary(version), "--mode", "validate", "--disable-hot-restart", "-c", config],
        env={"ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(MODULE_FOLDER)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr
    assert "rejected" not in check.stderr


def test_control_plane_is_known_by_its_hosts() -> None:
    """Its certificate must have one of the hosts that `--xds` names, as what they are."""
    common = context("control.example", "10.0.0.1", "::01")["common_tls_context"]
    assert common["validation_context"] == {
        "trusted_ca": {"filename": "/ca.pem"},
        "match_typed_subject_alt_names": [
            {"san_type": "DNS", "matcher": {"exact": "control.example"}},
            {"san_type": "IP_ADDRESS", "matcher": {"exact": "10.0.0.1"}},
            {"san_type": "IP_ADDRESS", "matcher": {"exact": "::1"}},
        ],
    }


def test_server_name() -> None:
    """The server is asked for by name; with several names, each by its own; an address is none."""
    assert context("control.example")["sni"] == "control.example"
    named = context("10.0.0.1", server_name="control.example")
    assert named["sni"] == "control.example"
    [name] = named["common_tls_context"]["validation_context"]["match_typed_subject_alt_names"]
    assert name == {"san_type": "DNS", "matcher": {"exact": "control.example"}}
    assert context("a.example", "b.example")["auto_host_sni"] is True
    assert not {"sni", "auto_host_sni"} & context("a.example", "10.0.0.1").keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--xds-client-cert", "c", "--xds-ca", "a"), "--xds-client-cert: needs --xds-client-key"),
        (("--xds-client-key", "k", "--xds-ca", "a"), "--xds-client-key: needs --xds-client-cert"),
        (
            ("--xds-client-cert", "c", "--xds-client-key", "k"),
            "--xds-client-cert: needs --xds-ca: without it",
        ),
        (("--xds-server-name", "n"), "--xds-server-name: needs --xds-ca: without it"),
        (("--xds-secrets", "d"), "--xds-secrets: needs --xds-ca: without it"),
    ],
)
def test_options_that_need_others(arguments: tuple[str, ...], message: str) -> None:
    """They say which."""
    answer = brownout("bootstrap", *XDS, *arguments)
    assert answer.returncode == 2
    assert message in " ".join(answer.stderr.replace("│", " ").split())


@pytest.fixture
def fake_envoy(tmp_path: Path) -> str:
    """An executable that prints how it was called."""
    path = tmp_path / "fake-envoy"
    path.write_text(f"#!{sys.executable}\nimport json, sys; print(json.dumps(sys.argv[1:]))\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_envoy_follows_its_certificates(fake_envoy: str, files: list[str], tmp_path: Path) -> None:
    """By files in a folder that is this user's alone, the same ones at every start."""
    folders = set()
    for _ in range(2):
        answer = brownout(
            "envoy", *XDS, "--envoy", fake_envoy, *files, env={"XDG_RUNTIME_DIR": str(tmp_path)}
        )
        config = json.loads(json.loads(answer.stdout)[1])
        [cluster] = config["static_resources"]["clusters"]
        [secret] = cluster["transport_socket"]["typed_config"]["common_tls_context"][
            "tls_certificate_sds_secret_configs"
        ]
        path = Path(secret["sds_config"]["path_config_source"]["path"])
        folders.add(path.parent)
        [written] = json.loads(path.read_text())["resources"]
        assert written["name"] == secret["name"]
        assert written["tls_certificate"]["private_key"] == {"filename": files[-1]}
    [folder] = folders
    assert folder.parent == tmp_path / f"brownout-{os.geteuid()}"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert len(list(folder.iterdir())) == 2


def test_folder_that_others_can_write_to(fake_envoy: str, files: list[str], tmp_path: Path) -> None:
    """It is not used."""
    folder = tmp_path / f"brownout-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    answer = brownout("envoy", *XDS, "--envoy", fake_envoy, *files, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert answer.returncode == 1
    assert answer.stderr == f"error: others can write to {folder}: name a folder with --xds-secrets\n"


def test_files_of_an_envoy_that_are_missing(fake_envoy: str, files: list[str], tmp_path: Path) -> None:
    """The message names the file, the option and what is wrong; a configuration may be for another host."""
    files[-1] = str(tmp_path / "none.key")
    answer = brownout("envoy", *XDS, "--envoy", fake_envoy, *files)
    assert answer.returncode == 1
    assert answer.stderr == (
        f"error: {files[-1]} cannot be read (--xds-client-key): No such file or directory\n"
    )
    assert brownout("bootstrap", *XDS, *files).returncode == 0


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "brownout.db")
    migrate(path)
    return path


def serve(database: str, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Start `brownout serve`, end it once it serves; return its exit code and what it said."""
    command = [*BROWNOUT, "serve", "--http", "127.0.0.1:0", "--database", database, *arguments]
    with subprocess.Popen(
        command, env=environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline():
            process.terminate()
        return process.wait(30), process.communicate()[1]


def test_server_beyond_loopback(database: str, tmp_path: Path) -> None:
    """Plain text, and TLS that asks for no certificate, are worth a warning; mutual TLS is not."""
    authority = Authority(tmp_path)
    issued = authority.issue("server", "127.0.0.1")
    tls = {"BROWNOUT_XDS_CERT": str(issued.certificate), "BROWNOUT_XDS_KEY": str(issued.key)}
    mutual = tls | {"BROWNOUT_XDS_CLIENT_CA": str(authority.certificate)}
    beyond = ("--xds", "0.0.0.0:0")
    code, plain = serve(database, *beyond)
    assert code == 0
    assert "with plain text (--xds-cert, --xds-key, --xds-client-ca): who reaches it can read" in plain
    assert "with no --xds-client-ca: who reaches it can read" in serve(database, *beyond, env=tls)[1]
    assert "who reaches it" not in serve(database, *beyond, env=mutual)[1]


def test_files_of_a_server(database: str, tmp_path: Path) -> None:
    """What is missing or cannot be used ends it with one line."""
    certificate = Authority(tmp_path).issue("server", "127.0.0.1").certificate
    stray = Authority(tmp_path, "other").issue("stray", "127.0.0.1").key
    xds = ("--xds", "127.0.0.1:0", "--xds-cert", str(certificate))
    code, said = serve(database, *xds)
    assert code == 2
    assert "--xds-key: is required with xds_cert" in " ".join(said.replace("│", " ").split())
    code, said = serve(database, *xds, "--xds-key", str(stray))
    assert code == 1
    assert said.endswith(f"error: the private key {stray} does not belong to the certificate {certificate}\n")
