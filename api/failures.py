"""The last resort: an exception that nobody expected becomes a problem, and stays in the log."""

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import Failed, respond

log = logging.getLogger(__name__)


class AnswersFailures:
    """ASGI middleware that answers 500.

    Starlette's own raises the exception again after it has answered, and uvicorn then closes the connection
    under a client that wants to use it again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception:
            if started or scope["type"] != "http":
                raise  # the answer cannot be taken back: the server cuts the connection
            log.exception("%s %s failed", scope["method"], scope["path"])
            await respond(Failed())(scope, receive, send)
