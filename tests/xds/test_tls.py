"""TLS and mutual TLS on the port of the Envoys."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
import trustme
from envoy_data_plane.envoy.config.core.v3 import Node

from brownout.domain import Fleet
from tests.xds.client import SERVICE, Client, Clients, eventually
from tests.xds.world import World, gateway
from xds_server import Options, ServerTls, TlsError, XdsServer
from xds_server.types import CDS, LDS

HOST = "xds.example.com"


class Files:
    """A server's material on disk, and the authority that signs it and the clients'."""

    def __init__(self, folder: Path, *, mutual: bool) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.renew(self.authority)
        self.authority.cert_pem.write_to_path(folder / "ca.pem")
        self.tls = ServerTls(folder / "cert.pem", folder / "key.pem", folder / "ca.pem" if mutual else None)

    def renew(self, authority: trustme.CA) -> None:
        """Replace certificate and key by new ones of that authority."""
        issued = authority.issue_cert(HOST)
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        for name, content in (("key.pem", issued.private_key_pem.bytes()), ("cert.pem", chain)):
            (self.folder / f"{name}.new").write_bytes(content)
            shutil.move(self.folder / f"{name}.new", self.folder / name)

    def client(self, *names: str) -> grpc.ChannelCredentials:
        """What a client connects with; with names, it shows a certificate that has them."""
        root = self.authority.cert_pem.bytes()
        if not names:
            return grpc.ssl_channel_credentials(root)
        issued = self.authority.issue_cert(*names)
        return grpc.ssl_channel_credentials(
            root, issued.private_key_pem.bytes(), b"".join(each.bytes() for each in issued.cert_chain_pems)
        )


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


async def test_served_over_tls(files: Files, world: World) -> None:
    """A client that trusts the authority, and with mutual TLS shows a certificate, is served."""
    async with serving(files, world) as (_, port), connected(port, files.client("envoy.test")) as client:
        assert (await client.get(CDS)).names == ["a", "b"]


async def test_mutual_tls_wants_a_certificate(mutual: Files, world: World, tmp_path: Path) -> None:
    """Without a certificate, or with one of another authority, no stream comes about."""
    (tmp_path / "other").mkdir()
    other = Files(tmp_path / "other", mutual=True)
    stranger = other.authority.issue_cert("envoy.test")
    strange = grpc.ssl_channel_credentials(
        mutual.authority.cert_pem.bytes(),
        stranger.private_key_pem.bytes(),
        b"".join(each.bytes() for each in stranger.cert_chain_pems),
    )
    async with serving(mutual, world) as (_, port):
        for credentials in (mutual.client(), strange):
            async with connected(port, credentials) as client:
                with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
                    await client.get(CDS)


async def test_certificates_are_read_again(files: Files, world: World) -> None:
    """New files count for new connections, without a restart; open streams go on."""
    old = files.client("envoy.test")
    async with serving(files, world) as (_, port), connected(port, old) as before:
        await before.get(CDS)
        renewed = trustme.CA()
        files.renew(renewed)
        issued = files.authority.issue_cert("envoy.test")
        new = grpc.ssl_channel_credentials(
            renewed.cert_pem.bytes(), issued.private_key_pem.bytes(), issued.cert_chain_pems[0].bytes()
        )
        async with asyncio.timeout(10):
            while not await _served(port, new):  # noqa: ASYNC110 (it is the files that are waited for)
                await asyncio.sleep(0.1)
        assert not await _served(port, old)
        await before.get(LDS)


async def _served(port: int, credentials: grpc.ChannelCredentials) -> bool:
    """Whether a client that connects now is served."""
    async with connected(port, credentials) as client:
        try:
            await client.get(CDS)
        except grpc.aio.AioRpcError:
            return False
        return True


async def test_half_replaced_certificates(
    files: Files, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """While key and certificate do not fit together, those before stay in use, and the log says why."""
    async with serving(files, world) as (_, port):
        (files.folder / "key.pem").write_bytes(files.authority.issue_cert(HOST).private_key_pem.bytes())
        await eventually(lambda: "key.pem" in caplog.text)
        assert await _served(port, files.client("envoy.test"))


async def test_material_that_does_not_fit(files: Files) -> None:
    """A server with files that are missing, or do not fit, does not start, and says which."""
    (files.folder / "key.pem").write_bytes(files.authority.issue_cert(HOST).private_key_pem.bytes())
    with pytest.raises(TlsError, match=r"cert\.pem"):
        await XdsServer(options=Options(tls=files.tls)).start("127.0.0.1", 0)
    (files.folder / "key.pem").unlink()
    with pytest.raises(TlsError, match=r"key\.pem"):
        await XdsServer(options=Options(tls=files.tls)).start("127.0.0.1", 0)


def _bound(*names: str) -> Fleet:
    return Fleet.load(gateway().document() | {"certificates": list(names)})


async def test_fleet_bound_to_names(mutual: Files, world: World) -> None:
    """Only an Envoy whose certificate has a name of the fleet joins it; other fleets are open."""
    await world.commit(
        _bound("*.edge.example.com", "spiffe://example.com/edge/*"), gateway("open", port=11000)
    )
    async with serving(mutual, world) as (_, port):
        async with connected(port, mutual.client("n1.edge.example.com")) as client:
            await client.get(CDS)
        async with connected(port, mutual.client("n1.other.test")) as client:
            await client.ask(CDS)
            code, details = await client.ended()
            assert code is grpc.StatusCode.PERMISSION_DENIED
            assert "certificate" in details
        async with connected(port, mutual.client("n1.other.test"), fleet="open") as client:
            await client.get(CDS)


async def test_bound_fleet_without_tls(clients: Clients, world: World, server: XdsServer) -> None:
    """A fleet that is bound to names has no Envoys over plain text; those that are there are dismissed."""
    async with clients.open(delta=False) as client:
        await client.get(CDS)
        await world.commit(_bound("edge.example.com"))
        assert (await client.ended())[0] is grpc.StatusCode.PERMISSION_DENIED
    async with clients.open(delta=True) as client:
        await client.ask(CDS)
        assert (await client.ended())[0] is grpc.StatusCode.PERMISSION_DENIED
