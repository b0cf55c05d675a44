"""The how-to page on TLS does what it says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.test_documents import ROOT, blocks
from tests.support import free_port, wait_until
from tests.support.certificates import Authority
from tests.support.server import clean_environment

PAGE = ROOT / "docs" / "how-to" / "secure-xds.md"


class Terminal:
    """Runs commands of the page, on ports that are free here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rest = f"127.0.0.1:{free_port()}"
        self._ports = {"18000": str(free_port()), "10000": str(free_port())}
        self._env = clean_environment() | {
            "BROWNOUT_HTTP": self.rest,
            "BROWNOUT_XDS": f"127.0.0.1:{self._ports['18000']}",
            "BROWNOUT_SERVER": f"http://{self.rest}",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(folder),
        }

    def _command(self, script: str) -> list[str]:
        for there, here in self._ports.items():
            script = script.replace(f"127.0.0.1:{there}", f"127.0.0.1:{here}")
        return [
            "bash",
            "-euo",
            "pipefail",
            "-c",
            script.replace("envoy --fleet", "envoy --admin 127.0.0.1:0 --fleet"),
        ]

    def run(self, script: str) -> str:
        """Run commands to their end, and return what they printed."""
        done = subprocess.run(
            self._command(script),
            env=self._env,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def staying(self, script: str) -> Iterator[None]:
        """Run commands the last of which goes on."""
        *before, last = script.strip().replace("\\\n", " ").split("\n")
        script = "\n".join([*before, f"exec {last}"])
        with (
            (self._folder / "log").open("wb") as log,
            subprocess.Popen(
                self._command(script), env=self._env, cwd=self._folder, stdout=log, stderr=log
            ) as process,
        ):
            try:
                yield
            finally:
                process.terminate()

    def nodes(self) -> list[tuple[str, bool]] | None:
        """The nodes, and whether they are connected; None while there is no control plane."""
        try:
            answer = httpx.get(f"http://{self.rest}/api/v1/nodes", trust_env=False)
        except httpx.TransportError:
            return None
        return [(node["id"], node["connected"]) for node in answer.raise_for_status().json()["items"]]

    def wait(self, *nodes: tuple[str, bool]) -> None:
        """Wait until these are the nodes."""
        wait_until(lambda: self.nodes() == [*nodes], timeout=30, what=f"the nodes {nodes}")


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def test_secure_xds(terminal: Terminal, tmp_path: Path) -> None:
    """Its commands lead to an Envoy that is let in by its certificate, and kept out for another."""
    certificates, serving, joining, binding = blocks(PAGE, "sh")
    if shutil.which("openssl"):
        terminal.run(certificates)
    else:
        (tmp_path / "tls").mkdir()
        authority = Authority(tmp_path / "tls")
        authority.issue("server", "127.0.0.1", "control.example")
        authority.issue("edge-1", "spiffe://example.com/edge/1")

    with terminal.staying(serving):
        terminal.wait()
        with terminal.staying(joining):
            terminal.wait(("edge-1", True))
            terminal.run(binding)
            assert terminal.nodes() == [("edge-1", True)]
            terminal.run("brownout fleet set edge --certificate other.example")
            terminal.wait(("edge-1", False))
            assert "edge/edge-1 is kept out since" in terminal.run("brownout status")
            terminal.run("brownout fleet set edge --any-certificate")
            terminal.wait(("edge-1", True))
