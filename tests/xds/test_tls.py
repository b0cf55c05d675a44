"""TLS and mutual TLS on the port of the Envoys, and fleets that are bound to certificates."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from envoy_data_plane.envoy.config.core.v3 import Node

from brownout.domain import CertificateNames, Fleet
from tests.support.certificates import Authority, replace
from tests.xds.client import SERVICE, Client, Clients, eventually
from tests.xds.world import World, gateway
from xds_server import Options, ServerTls, XdsServer
from xds_server.tls import Certificates, TlsError, peer_names
from xds_server.types import CDS, LDS

HOST = "xds.example.com"


class Files:
    """A server's material on disk, and the authority that signs it and the clients'."""

    def __init__(self, folder: Path, *, mutual: bool) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.server = self.authority.issue("server", HOST)
        ca = self.authority.certificate if mutual else None
        self.tls = ServerTls(self.server.certificate, self.server.key, ca)

    def client(
        self, *names: str, signed_by: Authority | None = None, trusts: Authority | None = None
    ) -> grpc.ChannelCredentials:
        """What a client connects with; with names, it shows a certificate that has them."""
        root = (trusts or self.authority).certificate.read_bytes()
        if not names:
            return grpc.ssl_channel_credentials(root)
        issued = (signed_by or self.authority).issue("client", *names)
        return grpc.ssl_channel_credentials(root, issued.key.read_bytes(), issued.certificate.read_bytes())


@pytest.fixture(params=[False, True], ids=["tls", "mtls"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return Files(tmp_path, mutual=request.param)


@pytest.fixture
def mutual(tmp_path: Path) -> Files:
    return Files(tmp_path, mutual=True)


@asynccontextmanager
async def serving(files: Files, world: World) -> AsyncIterator[tuple[XdsServer, int]]:
    server = XdsServer(options=Options(tls=files.tls))
    world.connect(server)
    port = await server.start("127.0.0.1", 0)
    try:
        await world.published()
        yield server, port
    finally:
        await server.stop(0.1)


@asynccontextmanager
async def connected(
    port: int, credentials: grpc.ChannelCredentials, *, fleet: str = "edge"
) -> AsyncIterator[Client]:
    options = [("grpc.ssl_target_name_override", HOST), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options=options) as channel:
        call = channel.stream_stream(f"{SERVICE}StreamAggregatedResources")()
        try:
            yield Client(call, Node(id="n1", cluster=fleet), delta=False)
        finally:
            call.cancel()


async def served(port: int, credentials: grpc.ChannelCredentials) -> bool:
    """Whether a client that connects now is served."""
    async with connected(port, credentials) as client:
        try:
            await client.get(CDS)
        except grpc.aio.AioRpcError:
            return False
        return True


async def refused(port: int, credentials: grpc.ChannelCredentials) -> str:
    """What a client is told that is kept out."""
    async with connected(port, credentials) as client:
        await client.ask(CDS)
        code, details = await client.ended()
    assert code is grpc.StatusCode.PERMISSION_DENIED
    return details


async def test_served_over_tls(files: Files, world: World) -> None:
    """A client that trusts the authority, and with mutual TLS shows a certificate, is served."""
    async with serving(files, world) as (_, port), connected(port, files.client("envoy.test")) as client:
        assert (await client.get(CDS)).names == ["a", "b"]


async def test_mutual_tls_wants_a_certificate(mutual: Files, world: World) -> None:
    """Without a certificate, or with one of another authority, no stream comes about."""
    stranger = mutual.client("envoy.test", signed_by=Authority(mutual.folder, "other"))
    async with serving(mutual, world) as (_, port):
        assert not await served(port, mutual.client())
        assert not await served(port, stranger)
        assert await served(port, mutual.client("envoy.test"))


async def test_plain_text_on_a_tls_port(files: Files, world: World) -> None:
    """It is not served."""
    async with serving(files, world) as (_, port), Clients(port).open(delta=True) as client:
        with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
            await client.get(CDS)


async def test_replaced_certificates(files: Files, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The next connection gets the new ones, without a restart; open streams go on."""
    caplog.set_level("INFO")
    old = files.client("envoy.test")
    async with serving(files, world) as (_, port), connected(port, old) as before:
        await before.get(CDS)
        renewed = Authority(files.folder, "renewed")
        renewed.issue("server", HOST)
        assert await served(port, files.client("envoy.test", trusts=renewed))
        assert not await served(port, old)
        assert f"new connections get the certificate that is in {files.tls.certificate} now" in caplog.text
        await before.get(LDS)


async def test_replaced_client_authority(mutual: Files, world: World) -> None:
    """Clients of the new authority are let in from then on, those of the old one no more."""
    other = Authority(mutual.folder, "other")
    old, new = mutual.client("envoy.test"), mutual.client("envoy.test", signed_by=other)
    async with serving(mutual, world) as (_, port), connected(port, old) as before:
        await before.get(CDS)
        replace(mutual.authority.certificate, other.certificate.read_bytes())
        assert await served(port, new)
        assert not await served(port, old)
        await before.get(LDS)


async def test_broken_replacement(files: Files, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """What was there before stays in use, and the log says once what is wrong, until it is right."""
    credentials = files.client("envoy.test")
    certificates = Certificates(files.tls)
    async with serving(files, world) as (_, port):
        watching = asyncio.create_task(certificates.watch(0.01))
        replace(files.tls.private_key, files.authority.issue("stray", HOST).key.read_bytes())
        assert await served(port, credentials)
        complaint = (
            "the new TLS files are not used, those before stay in use: the private key "
            f"{files.tls.private_key} does not belong to the certificate {files.tls.certificate}"
        )
        await eventually(lambda: complaint in caplog.text)
        await asyncio.sleep(0.1)
        watching.cancel()
        assert caplog.text.count(complaint) <= 2  # the server that runs looks at the same files
        renewed = Authority(files.folder, "renewed")
        renewed.issue("server", HOST)
        assert await served(port, files.client("envoy.test", trusts=renewed))


async def test_replacement_under_way(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    """A key that comes a moment before its certificate is not worth a word."""
    watching = asyncio.create_task(Certificates(files.tls).watch(0.2))
    issued = files.authority.issue("next", HOST)
    caplog.set_level("INFO")
    replace(files.tls.private_key, issued.key.read_bytes())
    await asyncio.sleep(0.05)
    replace(files.tls.certificate, issued.certificate.read_bytes())
    await eventually(lambda: "new connections get" in caplog.text)
    watching.cancel()
    assert "not used" not in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("server.pem", None, "the certificate {path} cannot be read: No such file or directory"),
        ("server.pem", b"", "the certificate {path} has no certificate in PEM form"),
        ("server.pem", b"0\x82\x01", "the certificate {path} has no certificate in PEM form"),
        ("server.key", None, "the private key {path} cannot be read: No such file or directory"),
        ("server.key", b"secret", "the private key {path} has no private key in PEM form"),
        ("ca.pem", None, "the client CA {path} cannot be read: No such file or directory"),
        ("ca.pem", b"-----BEGIN CERTIFICATE-----\n", "the client CA {path} has a damaged certificate: "),
        (
            "server.key",
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "the private key {path} is encrypted: expected one without a passphrase",
        ),
        (
            "server.key",
            b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
            "the private key {path} is damaged: ",
        ),
    ],
)
async def test_files_that_cannot_be_used(
    mutual: Files, name: str, content: bytes | None, message: str
) -> None:
    """A server does not start with them, and says which one and what is wrong."""
    path = mutual.folder / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TlsError) as caught:
        await XdsServer(options=Options(tls=mutual.tls)).start("127.0.0.1", 0)
    assert str(caught.value).startswith(message.format(path=path))


def test_names_in_certificates() -> None:
    """They are what gRPC says of the certificate's alternative names; its subject's name is none."""
    certificate = {"x509_pem_cert": [b"..."], "x509_common_name": [b"edge.example.com"]}
    assert peer_names({}) is None
    assert peer_names(certificate) == CertificateNames()
    found = peer_names(certificate | {"peer_dns": [b"a.test"], "peer_uri": [b"spiffe://a/b", b"x://\xff"]})
    assert found == CertificateNames(dns=("a.test",), uris=("spiffe://a/b", "x://\ufffd"))
    assert str(found) == "spiffe://a/b, x://\ufffd, a.test"


def _bound(*names: str) -> Fleet:
    return Fleet.load(gateway().document() | {"certificates": list(names)})


@pytest.mark.parametrize("name", ["n1.edge.example.com", "spiffe://example.com/edge/n1"])
async def test_fleet_bound_to_names(mutual: Files, world: World, name: str) -> None:
    """Only an Envoy whose certificate has a name of the fleet joins it; other fleets are open."""
    await world.commit(
        _bound("*.edge.example.com", "spiffe://example.com/edge/*"), gateway("open", port=11000)
    )
    async with serving(mutual, world) as (_, port):
        assert await served(port, mutual.client(name))
        stranger = mutual.client("n1.other.test")
        told = "the certificate shown has no name that fleet 'edge' takes; it has n1.other.test"
        assert await refused(port, stranger) == told
        async with connected(port, stranger, fleet="open") as client:
            await client.get(CDS)


async def test_refused_nodes_are_shown(mutual: Files, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """With the reason, told and logged once however often they come back, until they are let in."""
    await world.commit(_bound("edge.example.com"))
    async with serving(mutual, world) as (server, port):
        told = asyncio.ensure_future(anext(server.status.events()))
        await asyncio.sleep(0)
        reasons = {await refused(port, mutual.client("other.test")) for _ in range(3)}
        (node,) = server.status.nodes("edge")
        assert (node.id, node.connected, {node.refused}) == ("n1", False, reasons)
        event = await told
        assert (event.kind, event.node) == ("refused", node)
        assert caplog.text.count("n1 is kept out: the certificate shown has no name") == 1
        reached = server.status.converged("edge")
        assert (reached.nodes, reached.converged) == (0, True)

        async with connected(port, mutual.client("edge.example.com")) as client:
            await client.get(CDS)
            (node,) = server.status.nodes("edge")
            assert (node.connected, node.refused) == (True, None)
            await refused(port, mutual.client("other.test"))
            assert [each.connected for each in server.status.nodes("edge")] == [True, False]
            await client.get(LDS)


async def test_fleet_bound_while_nodes_are_connected(
    clients: Clients, world: World, server: XdsServer, delta: bool
) -> None:
    """Those that the fleet no longer takes are dismissed and shown; plain text shows no certificate."""
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        await world.commit(_bound("edge.example.com"))
        text = "fleet 'edge' requires a certificate, and the connection shows none"
        assert await client.ended() == (grpc.StatusCode.PERMISSION_DENIED, text)
        await eventually(lambda: [each.refused for each in server.status.nodes()] == [text])
    async with clients.open(delta=delta) as client:
        await client.ask(CDS)
        assert (await client.ended())[0] is grpc.StatusCode.PERMISSION_DENIED
    await world.commit(gateway())
    async with clients.open(delta=delta) as client:
        await client.get(CDS)
        assert [(each.connected, each.refused) for each in server.status.nodes()] == [(True, None)]
