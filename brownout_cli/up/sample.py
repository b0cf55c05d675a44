"""The sample upstream, `python -m brownout_cli.up.sample HOST PORT`: paths of different natural speed."""

import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from brownout_cli.addresses import Address, open_listener

READY = "sample upstream listens"
# Path prefix and its natural response time in seconds: lowest and highest.
NATURAL = {
    "/health": (0.0005, 0.001),
    "/search": (0.004, 0.010),
    "/pay": (0.015, 0.025),
    "/report": (0.060, 0.100),
}
_ELSE = (0.001, 0.002)

_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


async def app(scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
    """Answer any request with JSON after the path's natural time (ASGI)."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    path = scope["path"]
    lowest, highest = next((span for prefix, span in NATURAL.items() if path.startswith(prefix)), _ELSE)
    await asyncio.sleep(random.uniform(lowest, highest))  # noqa: S311 - not a secret
    body = json.dumps({"path": path, "from": "sample"}).encode() + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until a signal; the first line of output says where."""
    listener = open_listener(Address(sys.argv[1], int(sys.argv[2])))
    sys.stdout.write(f"{READY} on {listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listener])


if __name__ == "__main__":
    main()
