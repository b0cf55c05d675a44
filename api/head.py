"""`HEAD`: every `GET` without its body."""

from starlette.types import ASGIApp, Receive, Scope, Send

from api.events import HEAD_ONLY


class AnswersHead:
    """ASGI middleware that routes `HEAD` as `GET`; the server (uvicorn) leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", HEAD_ONLY: True}
        await self._app(scope, receive, send)
