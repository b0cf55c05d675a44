"""Many fake Envoys in a process of their own: `python -m benchmarks._push_clients ADDRESS COUNT sotw|delta`.

Each has a connection and a stream of its own, asks for what an Envoy asks for, and acknowledges what comes.
Commands come on stdin, one a line: `expect` waits for the next routes on every stream, and prints when the
last had them (seconds of the system's monotonic clock); the bytes of the routes are in a file that `save
FILE` names.
"""

import asyncio
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc

from xds_server import wire
from xds_server.types import BY_URL, CDS, ECDS, EDS, LDS, ORDER, RDS, TypeInfo

_SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
_METHODS = {"sotw": "StreamAggregatedResources", "delta": "DeltaAggregatedResources"}
_NAMES = {CDS: (), EDS: ("backend",), LDS: (), RDS: ("brownout",), ECDS: ("brownout",)}
_FLEET = "edge"


class Fleet:
    """All fake Envoys, and how many of them have the routes that are expected."""

    def __init__(self, address: str, count: int, variant: str) -> None:
        self.delta = variant == "delta"
        self.count = count
        self.arrived = 0
        self.last = 0.0
        self.routes = b""
        self.all_there = asyncio.Event()
        self._address = address
        self._method = _SERVICE + _METHODS[variant]
        self._channels: list[grpc.aio.Channel] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        """Open all streams and wait until each has its routes."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        for number in range(self.count):
            channel = grpc.aio.insecure_channel(self._address, options=options)
            self._channels.append(channel)
            self._tasks.append(asyncio.create_task(self._run(number, channel.stream_stream(self._method)())))
            if number % 50 == 49:
                await asyncio.sleep(0.05)
        await self.all_there.wait()

    def expect(self) -> None:
        """Count from now on."""
        self.arrived = 0
        self.all_there.clear()

    async def _run(self, number: int, call: Any) -> None:
        for kind in ORDER:
            node = wire.text(1, f"n{number:05}") + wire.text(2, _FLEET)
            await call.write(self._request(kind, "", node if kind is CDS else b""))
        with suppress(grpc.aio.AioRpcError):  # the server may end first
            await self._read(call)

    async def _read(self, call: Any) -> None:
        while (data := await call.read()) is not grpc.aio.EOF:
            kind, nonce = _head(data)
            if kind is RDS:
                self.arrived += 1
                if self.arrived == self.count:
                    self.last = time.monotonic()
                    self.routes = data
                    self.all_there.set()
            await call.write(self._request(kind, nonce))

    def _request(self, kind: TypeInfo, nonce: str, node: bytes = b"") -> bytes:
        names = _NAMES[kind]
        if not self.delta:
            parts = [wire.field(2, node) if node else b"", *(wire.text(3, name) for name in names)]
            return b"".join(parts) + wire.text(4, kind.url) + wire.text(5, nonce)
        asked = () if nonce else names
        parts = [wire.field(1, node) if node else b"", wire.text(2, kind.url)]
        return b"".join((*parts, *(wire.text(3, name) for name in asked), wire.text(6, nonce)))


def _head(data: bytes) -> tuple[TypeInfo, str]:
    url = nonce = ""
    for number, _, _, value in wire.fields(data):
        if number == 4:
            url = wire.string(value)
        elif number == 5:
            nonce = wire.string(value)
    return BY_URL[url], nonce


async def _main(address: str, count: int, variant: str) -> None:
    loop = asyncio.get_running_loop()
    fleet = Fleet(address, count, variant)
    await fleet.connect()
    await asyncio.sleep(1)
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command, *arguments = line.split()
        if command == "expect":
            fleet.expect()
            print("waiting", flush=True)
            await fleet.all_there.wait()
            print(fleet.last, flush=True)
        elif command == "save":
            await asyncio.to_thread(Path(arguments[0]).write_bytes, fleet.routes)
            print("saved", flush=True)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
