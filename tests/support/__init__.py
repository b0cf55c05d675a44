"""Real things for tests: Envoy processes, upstream servers, clients.

with Upstream({"/slow": Behaviour(delay=0.06)}) as upstream:
    with EnvoyProcess(static_bootstrap(upstream.port)) as envoy, client(envoy.url()) as http:
        assert http.get("/slow").status_code == 200
"""

from .behaviour import Behaviour, Gate, Request, filler_headers
from .binaries import MODULE_FOLDER, OLDER, REFERENCE, envoy_binary
from .bootstrap import (
    cluster,
    fault,
    listener,
    manager_of,
    module_filter,
    route,
    static_bootstrap,
    string_value,
)
from .clients import async_client, client
from .envoy import EnvoyProcess
from .http1_client import Http1Client, request_bytes
from .http2_client import Http2Client
from .raw import RawResponse, exchange
from .server import ServerProcess
from .upstream import Upstream
from .waiting import free_port, wait_until, wait_until_async

__all__ = [
    "MODULE_FOLDER",
    "OLDER",
    "REFERENCE",
    "Behaviour",
    "EnvoyProcess",
    "Gate",
    "Http1Client",
    "Http2Client",
    "RawResponse",
    "Request",
    "ServerProcess",
    "Upstream",
    "async_client",
    "client",
    "cluster",
    "envoy_binary",
    "exchange",
    "fault",
    "filler_headers",
    "free_port",
    "listener",
    "manager_of",
    "module_filter",
    "request_bytes",
    "route",
    "static_bootstrap",
    "string_value",
    "wait_until",
    "wait_until_async",
]
