"""TLS of listeners and of upstreams, on real Envoys."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from brownout.domain import Fleet
from tests.support import EnvoyProcess, Upstream, free_port, static_bootstrap
from tests.support.bootstrap import TYPE
from tests.support.certificates import Authority, Issued
from tests.xds.real.conftest import Stage
from tests.xds.real.load import get
from tests.xds.world import endpoint, gateway, upstream

NAME = "shop.example.com"
DOWNSTREAM = f"{TYPE}envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_listener(stage: Stage, one: Upstream, authority: Authority) -> None:
    """A listener with TLS serves HTTP/1 and HTTP/2 to clients that show a certificate, and no others."""
    server, client = authority.issue("server", NAME), authority.issue("client", "user.example.com")
    port = free_port()
    tls = {
        "certificate": server.certificate.read_text(),
        "private_key": str(server.key),
        "client_ca": str(authority.certificate),
    }
    secure = {"name": "https", "address": "127.0.0.1", "port": port, "tls": tls}
    plain = gateway(port=stage.listen).document()
    await stage.world.commit(
        Fleet.load(plain | {"listeners": [*plain["listeners"], secure]}),
        upstream("u", port=one.port),
        endpoint("all", "u", match={}),
    )
    async with stage.envoy():
        await stage.converged()
        assert (await get(f"http://127.0.0.1:{stage.listen}/")).text == "one"
        for http2, expected in ((False, "HTTP/1.1"), (True, "HTTP/2")):
            context = ssl.create_default_context(cafile=authority.certificate)
            context.check_hostname = False
            context.load_cert_chain(client.certificate, client.key)
            async with httpx.AsyncClient(trust_env=False, verify=context, http2=http2) as http:
                answer = await http.get(f"https://127.0.0.1:{port}/")
                assert (answer.text, answer.http_version) == ("one", expected)
        stranger = ssl.create_default_context(cafile=authority.certificate)
        stranger.check_hostname = False
        async with httpx.AsyncClient(trust_env=False, verify=stranger) as http:
            with pytest.raises(httpx.HTTPError):
                await http.get(f"https://127.0.0.1:{port}/")


@pytest.mark.parametrize("protocol", ["http1", "http2"])
async def test_upstream(stage: Stage, one: Upstream, authority: Authority, protocol: str) -> None:
    """An upstream with TLS is shown the Envoy's certificate, and must have the name that is wanted."""
    server, client = authority.issue("server", NAME), authority.issue("client", "envoy.example.com")
    tls = {
        "sni": NAME,
        "ca": authority.certificate.read_text(),
        "subject_alt_names": [NAME],
        "certificate": str(client.certificate),
        "private_key": str(client.key),
    }
    backend = EnvoyProcess(_terminating(one.port, server, authority))
    async with backend:
        port = backend.address()[1]
        await stage.world.commit(
            gateway(port=stage.listen),
            upstream("secure", port=port, protocol=protocol, tls=tls),
            endpoint("all", "secure", match={}, retry={"retry_on": "5xx", "per_try_timeout": "2s"}),
        )
        url = f"http://127.0.0.1:{stage.listen}/"
        async with stage.envoy() as envoy:
            await stage.converged()
            assert (await get(url)).text == "one"
            assert await asyncio.to_thread(envoy.stat, "cluster.secure.ssl.handshake") >= 1
            other = tls | {"subject_alt_names": ["other.example.com"]}
            await stage.world.commit(upstream("secure", port=port, protocol=protocol, tls=other))
            await stage.converged()
            async with asyncio.timeout(10):
                # Workers take the changed cluster a moment after it was acknowledged.
                while (await get(url)).status_code != 503:
                    pass
            assert await asyncio.to_thread(envoy.stat, "cluster.secure.ssl.fail_verify_san") >= 1


def _terminating(port: int, server: Issued, authority: Authority) -> dict[str, Any]:
    """An Envoy that takes TLS from clients with a certificate, and goes on in plain text."""
    config = static_bootstrap(port, position="none")
    [chain] = config["static_resources"]["listeners"][0]["filter_chains"]
    certificate = {
        "certificate_chain": {"filename": str(server.certificate)},
        "private_key": {"filename": str(server.key)},
    }
    common = {
        "alpn_protocols": ["h2", "http/1.1"],
        "tls_certificates": [certificate],
        "validation_context": {"trusted_ca": {"filename": str(authority.certificate)}},
    }
    chain["transport_socket"] = {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": DOWNSTREAM,
            "require_client_certificate": True,
            "common_tls_context": common,
        },
    }
    return config
