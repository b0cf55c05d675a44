"""TLS and mutual TLS between real Envoys and a real server; certificates that change; bound fleets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from brownout_cli.bootstrap_tls import XdsTls
from brownout_cli.commands.tls_options import write_secrets
from tests.cli.running import brownout
from tests.e2e.stack import FLEET, configuration, constant, endpoint
from tests.support import OLDER, REFERENCE, ServerProcess, Upstream, exchange, free_port, wait_until
from tests.support.certificates import Authority, Issued, replace

SERVER_NAMES = ("xds.example.com", "127.0.0.1")
CONNECTIONS = "cluster.brownout_xds.upstream_cx"


@dataclass
class Secured:
    """A server with TLS, the authority of its certificates, and where Envoys of `edge` listen."""

    folder: Path
    authority: Authority
    server: ServerProcess
    port: int

    def tls(self, client: Issued | None = None) -> XdsTls:
        """What an Envoy connects with, and follows; the files for that are written."""
        files = None if client is None else (client.certificate, client.key)
        tls = XdsTls(self.authority.certificate, files, secrets=self.folder / "secrets")
        write_secrets(tls)
        return tls

    def status_of(self, path: str = "/pay") -> int:
        """What Envoy answers."""
        return exchange(("127.0.0.1", self.port), "GET", path).status

    def inject(self, status: int) -> None:
        """Change the profile, and wait until Envoy injects it."""
        self.server.put("profiles/pay", {"spec": constant((status, "1ms"))})
        self.server.wait_converged()
        assert self.status_of() == status

    def connected(self) -> set[str]:
        """The ids of the connected nodes."""
        nodes = self.server.http.get("nodes").json()["items"]
        return {node["id"] for node in nodes if node["connected"]}

    def refusals(self) -> list[str]:
        """Why nodes are kept out."""
        nodes = self.server.http.get("nodes").json()["items"]
        return [node["refused"] for node in nodes if node["refused"]]

    @contextmanager
    def bound(self, *names: str) -> Iterator[None]:
        """Bind the fleet to names in certificates."""
        path = f"fleets/{FLEET}"
        before = self.server.http.get(path).json()
        self.server.put(path, before | {"certificates": list(names)})
        try:
            yield
        finally:
            self.server.put(path, before)


@contextmanager
def secured(folder: Path, *, mutual: bool) -> Iterator[Secured]:
    authority = Authority(folder)
    issued = authority.issue("server", *SERVER_NAMES)
    options: list[Path | str] = ["--xds-cert", issued.certificate, "--xds-key", issued.key]
    options += ["--xds-client-ca", authority.certificate] if mutual else []
    port = free_port()
    with Upstream() as upstream, ServerProcess(folder / "brownout.db", *options) as server:
        profiles, endpoints = {"pay": constant((500, "1ms"))}, [endpoint("pay", "/pay", "pay")]
        server.apply(configuration(port, upstream.port, profiles=profiles, endpoints=endpoints))
        yield Secured(folder, authority, server, port)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Envoys need no certificate."""
    with secured(tmp_path_factory.mktemp("plain"), mutual=False) as found:
        yield found


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Envoys must show a certificate."""
    with secured(tmp_path_factory.mktemp("mutual"), mutual=True) as found:
        yield found


def test_tls(plain: Secured) -> None:
    """An Envoy that trusts the server's authority is served."""
    with plain.server.envoy(tls=XdsTls(plain.authority.certificate, server_name=SERVER_NAMES[0])):
        plain.inject(501)


def test_server_that_is_another(plain: Secured) -> None:
    """An Envoy does not talk to a server whose certificate has another name, or another authority."""
    other = Authority(plain.folder, "other").certificate
    for tls, failure in (
        (XdsTls(plain.authority.certificate, server_name="other.example.com"), "fail_verify_san"),
        (XdsTls(other), "fail_verify_error"),
    ):
        with plain.server.envoy(node_id="lost", tls=tls, wait="admin") as envoy:
            envoy.wait_stat(f"cluster.brownout_xds.ssl.{failure}")
            assert "lost" not in plain.connected()


def test_broken_server_certificate(plain: Secured) -> None:
    """A file that cannot be used changes nothing, and the log says why, once."""
    path = plain.folder / "server.pem"
    content = path.read_bytes()
    replace(path, b"nonsense")
    complaint = f"the certificate {path} has no certificate in PEM form"
    wait_until(lambda: complaint in plain.server.log, what="the complaint")
    with plain.server.envoy(tls=XdsTls(plain.authority.certificate)):
        plain.inject(502)
    assert plain.server.log.count(complaint) == 1
    replace(path, content)


@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_mutual_tls(mutual: Secured, version: str) -> None:
    """An Envoy with a certificate is served."""
    tls = mutual.tls(mutual.authority.issue("envoy", "envoy.test"))
    with mutual.server.envoy(tls=tls, version=version):
        mutual.inject(501)
        mutual.inject(502)


def test_mutual_tls_without_certificate(mutual: Secured) -> None:
    """An Envoy that shows none, or a stranger's, never becomes a node."""
    stranger = Authority(mutual.folder, "other").issue("stranger", "envoy.test")
    for tls in (mutual.tls(), mutual.tls(stranger)):
        with mutual.server.envoy(node_id="stranger", tls=tls, wait="admin") as envoy:
            envoy.wait_stat(f"{CONNECTIONS}_destroy_remote", at_least=2)
            assert "stranger" not in {node["id"] for node in mutual.server.http.get("nodes").json()["items"]}


def test_bound_fleet(mutual: Secured) -> None:
    """An Envoy with a foreign certificate is kept out and shown; once it gets the right one it is let in."""
    why = "the certificate shown has no name that fleet 'edge' takes; it has spiffe://example.com/inner/e1"
    foreign = mutual.authority.issue("envoy", "spiffe://example.com/inner/e1")
    with (
        mutual.bound("spiffe://example.com/edge/*"),
        mutual.server.envoy(tls=mutual.tls(foreign), wait="admin") as envoy,
    ):
        wait_until(lambda: mutual.refusals() == [why], what="the refusal")
        shown = brownout("status", "--server", mutual.server.rest).stdout
        assert f"{FLEET}/e1 is kept out since " in shown
        assert why in shown
        assert envoy.stat("cluster_manager.cds.update_success") == 0

        mutual.authority.issue("envoy", "spiffe://example.com/edge/e1")
        wait_until(
            lambda: mutual.connected() == {"e1"}, timeout=20, what="the Envoy with its new certificate"
        )
        assert mutual.refusals() == []
        mutual.inject(503)

        with mutual.bound("spiffe://example.com/other"):
            wait_until(lambda: mutual.refusals() == [why.replace("inner", "edge")], what="the dismissal")
            assert mutual.status_of() == 503  # it keeps what it has
        wait_until(lambda: mutual.connected() == {"e1"}, timeout=20, what="the Envoy that may join again")


def test_replaced_server_certificate(mutual: Secured) -> None:
    """New connections get the new certificate; the stream that is there goes on."""
    client = mutual.authority.issue("envoy", "envoy.test")
    renewed = Authority(mutual.folder, "renewed")
    late = XdsTls(renewed.certificate, (client.certificate, client.key))
    with mutual.server.envoy(tls=mutual.tls(client)) as envoy:
        mutual.inject(504)
        connections = envoy.stat(f"{CONNECTIONS}_total")
        renewed.issue("server", *SERVER_NAMES)
        with mutual.server.envoy(node_id="late", fleet="other", tls=late):
            assert "late" in mutual.connected()
        mutual.inject(505)
        assert envoy.stat(f"{CONNECTIONS}_total") == connections
    mutual.authority.issue("server", *SERVER_NAMES)
