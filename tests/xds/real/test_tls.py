"""TLS of listeners and of upstreams, on real Envoys: an Envoy that is its own TLS backend."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from brownout.domain import Fleet
from brownout.domain import Upstream as Backend
from tests.support import Upstream, free_port
from tests.support.certificates import Authority
from tests.xds.real.conftest import Stage
from tests.xds.world import endpoint, upstream

NAME = "shop.example.com"


def _fleet(plain: int, secure: int, tls: dict[str, Any]) -> Fleet:
    return Fleet.load(
        {
            "name": "edge",
            "listeners": [
                {"name": "http", "address": "127.0.0.1", "port": plain},
                {"name": "https", "address": "127.0.0.1", "port": secure, "tls": tls},
            ],
        }
    )


def _over_tls(port: int, protocol: str, tls: dict[str, Any]) -> Backend:
    return upstream("secure", port=port, protocol=protocol, tls=tls)


@pytest.mark.parametrize("protocol", ["http1", "http2"])
async def test_mutual_tls(stage: Stage, one: Upstream, tmp_path: Path, protocol: str) -> None:
    """A listener that wants a certificate, and an upstream that is shown one and whose name is verified.

    What comes from outside goes to the Envoy's own TLS listener; what comes from there, to the backend.
    """
    authority = Authority(tmp_path)
    server, client = authority.issue("server", NAME), authority.issue("client", "envoy.example.com")
    ca = authority.certificate.read_text()
    port = free_port()
    listen = {"certificate": server.certificate.read_text(), "private_key": str(server.key), "client_ca": ca}
    outgoing = {
        "sni": NAME,
        "ca": str(authority.certificate),
        "subject_alt_names": [NAME],
        "certificate": str(client.certificate),
        "private_key": str(client.key),
    }
    outside = {"headers": [{"name": "x-forwarded-for", "exact_match": "127.0.0.1"}]}
    await stage.world.commit(
        _fleet(stage.listen, port, listen),
        upstream("backend", port=one.port),
        _over_tls(port, protocol, outgoing),
        endpoint("outer", "secure", match=outside),
        endpoint("inner", "backend", match={}, retry={"retry_on": "5xx", "per_try_timeout": "2s"}),
    )
    async with stage.envoy():
        await stage.converged()
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"http://127.0.0.1:{stage.listen}/")).text == "one"
        context = ssl.create_default_context(cadata=ca)
        context.check_hostname = False
        async with httpx.AsyncClient(trust_env=False, verify=context) as http:
            with pytest.raises(httpx.HTTPError):
                await http.get(f"https://127.0.0.1:{port}/")
        wrong = outgoing | {"subject_alt_names": ["other.example.com"]}
        await stage.world.commit(_over_tls(port, protocol, wrong))
        await stage.converged()
        async with asyncio.timeout(10), httpx.AsyncClient(trust_env=False) as http:
            # Workers take the changed cluster a moment after it was acknowledged.
            while (answer := await http.get(f"http://127.0.0.1:{stage.listen}/")).status_code != 503:
                pass
            assert "CERTIFICATE_VERIFY_FAILED" in answer.text
