"""httpx clients; where a test must see every byte, header and trailer, `raw.exchange` is the one."""

import httpx

_MANY = httpx.Limits(max_connections=None, max_keepalive_connections=None)


def client(base_url: str = "", *, http2: bool = False, timeout: float = 30.0) -> httpx.Client:
    """A client without proxies; `http2` by prior knowledge."""
    return httpx.Client(
        base_url=base_url, http1=not http2, http2=http2, trust_env=False, timeout=timeout, limits=_MANY
    )


def async_client(base_url: str = "", *, http2: bool = False, timeout: float = 30.0) -> httpx.AsyncClient:
    """The same for asyncio."""
    return httpx.AsyncClient(
        base_url=base_url, http1=not http2, http2=http2, trust_env=False, timeout=timeout, limits=_MANY
    )
