"""Without credentials only this machine is served, and no page of another site may write.

A browser on this machine reaches loopback too. A site whose name resolves to 127.0.0.1 (DNS
rebinding) would read and write as its user: its requests carry the site's name in `Host`. A form or
script of another site can send simple requests: those carry the site's `Origin`.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import Refused, respond

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_loopback(host: str) -> bool:
    """Whether a `Host` header (with or without a port) names this machine by a loopback name."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def refusal(method: str, headers: Headers) -> Refused | None:
    """Why a request without credentials is refused; `None` when it may pass."""
    host = headers.get("host", "")
    if not is_loopback(host):
        return Refused(
            f"the Host header says {host!r}; without tokens only localhost, 127.0.0.1 and [::1] are served",
            [("Host", "expected a loopback name")],
        )
    origin = headers.get("origin")
    if origin is None or method in _SAFE_METHODS:
        return None
    # `null` (a sandboxed frame, a file) is refused as well.
    if origin.lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
        return Refused(
            f"a page of {origin} may not write here", [("Origin", f"expected http://{host}, or no Origin")]
        )
    return None


class LoopbackOnly:
    """ASGI middleware that applies `refusal` to every HTTP request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, or pass the request on."""
        if scope["type"] == "http":
            refused = refusal(scope["method"], Headers(scope=scope))
            if refused is not None:
                await respond(refused)(scope, receive, send)
                return
        await self._app(scope, receive, send)
