"""What bare grpc.aio does: `python -m benchmarks._push_bare FILE` sends the file's bytes to every stream.

Prints its address. Each stream gets the bytes when it has asked for routes, and again, all at once, for
each line on stdin; the line is answered with the time at which it was begun (seconds of the system's
monotonic clock).
"""

import asyncio
import resource
import sys
import time
from pathlib import Path
from typing import Any

import grpc

from xds_server.types import RDS

_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"


class Bare:
    """A server that knows nothing but one message."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._streams: set[asyncio.Event] = set()

    async def serve(self, _requests: object, context: Any) -> None:
        """Send the message whenever told to."""
        go = asyncio.Event()
        self._streams.add(go)
        reader = asyncio.create_task(self._read(context, go))
        try:
            while True:
                await go.wait()
                go.clear()
                await context.write(self._message)
        finally:
            self._streams.discard(go)
            reader.cancel()

    async def _read(self, context: Any, go: asyncio.Event) -> None:
        while (data := await context.read()) is not grpc.aio.EOF:
            # Requests without the nonce of the message ask for the routes, the others acknowledge them.
            if RDS.url.encode() in data and self._message[-4:] not in data:
                go.set()

    def send(self) -> None:
        """Send it to all."""
        for each in self._streams:
            each.set()


async def _main(message: bytes) -> None:
    bare = Bare(message)
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    handlers = {
        name: grpc.stream_stream_rpc_method_handler(bare.serve)
        for name in ("StreamAggregatedResources", "DeltaAggregatedResources")
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        started = time.monotonic()
        bare.send()
        print(started, flush=True)
    await server.stop(0)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_main(Path(sys.argv[1]).read_bytes()))
