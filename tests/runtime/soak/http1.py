"""HTTP/1.1 as the soak speaks it: kept connections, pipelines, slow readers, halves of requests, resets."""

import asyncio
import random
import socket
import struct
from collections.abc import Coroutine
from contextlib import suppress

from .answers import HUNG, Answer
from .asks import PATIENCE, Address, Ask, Run

BROKEN = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError)
LIMIT = 256 * 1024
_MUCH = 1 << 20
_RESET = struct.pack("ii", 1, 0)
_ON_ONE_CONNECTION = 10
_PIPELINED = 8
_HALVES = (
    b"GE",
    b"GET /http1/delay HTTP/1.1\r\nhost: a\r\nx-half",
    b"POST /http1/delay HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nsome of it",
    b"POST /http2/mixed?early=1 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n400\r\nsome of it",
    b"GET /http1/delay HTTP/1.1\r\nhost: a\r\n\r\nGET /http2/mixed HTTP/1.1\r\nhos",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x20\x01",
)


def fields_of(head: bytes) -> dict[str, str]:
    """The header fields of a request or response, by lower-case name."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.lower(): value.strip() for name, _, value in pairs}


async def body_of(
    reader: asyncio.StreamReader, fields: dict[str, str], *, bodiless: bool
) -> tuple[bytes, bool]:
    """A message's body, and whether trailers followed."""
    if bodiless:
        return b"", False
    if fields.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(fields.get("content-length", 0))), False
    pieces, trailers = [], False
    while size := int(await reader.readuntil(b"\r\n"), 16):
        pieces.append((await reader.readexactly(size + 2))[:-2])
    while (await reader.readuntil(b"\r\n")) != b"\r\n":
        trailers = True
    return b"".join(pieces), trailers


async def read_answer(reader: asyncio.StreamReader, method: str) -> Answer:
    """The next response."""
    answer = Answer()
    with suppress(*BROKEN):
        status = 100
        while status in {100, 103}:
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
        bodiless = method == "HEAD" or status in {204, 304}
        answer.body, answer.trailers = await body_of(reader, fields_of(head), bodiless=bodiless)
        answer.status = status
    return answer


async def connected(address: Address, *, window: int = 0) -> socket.socket:
    """A connected socket; `window`: how much the kernel takes for a reader that does not read, 0: much."""
    sock = socket.socket()
    sock.setblocking(False)
    if window:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    try:
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


def read_on(transport: asyncio.BaseTransport) -> None:
    """Have the kernel take much from now on: with little the rest of a large body would take minutes."""
    if not transport.is_closing():
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _MUCH)


async def connect(address: Address, *, window: int = 0) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection."""
    sock = await connected(address, window=window)
    return await asyncio.open_connection(sock=sock, limit=LIMIT)


def reset(transport: asyncio.BaseTransport) -> None:
    """Leave without a goodbye."""
    if not transport.is_closing():
        linger = transport.get_extra_info("socket")
        linger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.close()


def _head(ask: Ask) -> bytes:
    length = f"content-length: {ask.upload}\r\n" if ask.upload else ""
    return f"{ask.method} {ask.path} HTTP/1.1\r\nhost: a\r\n{length}\r\n".encode()


async def client(run: Run, number: int) -> None:
    """Connections of every kind, one after the other."""
    rng = run.rng("http1", number)
    kinds = [(_one_by_one, 60), (_pipeline, 25), (_half, 8), (_slow, 7)]
    while run.going:
        kind = rng.choices(*zip(*kinds, strict=True))[0]
        with suppress(ConnectionError):
            await kind(run, rng)


async def _one_by_one(run: Run, rng: random.Random) -> None:
    listener = run.listener(rng)
    reader, writer = await connect(run.addresses[listener])
    try:
        for _ in range(_ON_ONE_CONNECTION):
            ask, halts = run.ask(rng, listener), run.halts
            answer = await _exchange(reader, writer, ask)
            run.judge("http1", ask, answer, halts)
            if not run.going or answer.status <= 0 or ask.upload or ask.leave is not None or ask.rough:
                break
    finally:
        if rng.random() < 0.3:
            reset(writer.transport)
        writer.close()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ask: Ask) -> Answer:
    half = ask.upload // 2
    writer.write(_head(ask) + b"u" * half)
    answer = asyncio.ensure_future(read_answer(reader, ask.method))
    try:
        if ask.upload:
            await asyncio.wait([answer], timeout=ask.pause)
            if not answer.done():
                writer.write(b"u" * (ask.upload - half))
        await asyncio.wait([answer], timeout=PATIENCE if ask.leave is None else ask.leave)
        if answer.done():
            return await answer
        return Answer(HUNG if ask.leave is None else 0)
    finally:
        answer.cancel()


async def _pipeline(run: Run, rng: random.Random) -> None:
    """Several requests in one write; the answers are read late, in part, or never."""
    listener = run.listener(rng)
    number, backs_up = rng.randint(2, _PIPELINED), rng.random() < 0.15
    window = 65_536 if backs_up else rng.choice((0, 0, 4096))
    reader, writer = await connect(run.addresses[listener], window=window)
    try:
        asks = [run.ask(rng, listener, bodies=False) for _ in range(number)]
        if backs_up:
            asks = run.backlog(rng, listener, number)
        halts, stop = run.halts, rng.choice((len(asks), len(asks), rng.randrange(len(asks))))
        writer.write(b"".join(_head(ask) for ask in asks))
        await asyncio.sleep(
            rng.uniform(0.1, 0.6) if backs_up else rng.choice((0.0, 0.0, rng.uniform(0, 0.5)))
        )
        read_on(writer.transport)
        for place, ask in enumerate(asks):
            if place == stop:
                break
            answer = await _in_time(read_answer(reader, ask.method))
            if backs_up and not answer.status:
                break  # Envoy itself, with no filter at all, closes some of these between two answers
            run.judge("http1 pipelined", ask, answer, halts)
            if answer.status <= 0 or ask.rough:
                break
    finally:
        if rng.random() < 0.5:
            reset(writer.transport)
        writer.close()


async def _in_time(reading: Coroutine[None, None, Answer]) -> Answer:
    try:
        async with asyncio.timeout(PATIENCE):
            return await reading
    except TimeoutError:
        return Answer(HUNG)


async def _half(run: Run, rng: random.Random) -> None:
    """Half of something, and then nothing, an end or a reset."""
    _, writer = await connect(run.addresses[run.listener(rng)])
    writer.write(rng.choice(_HALVES))
    await asyncio.sleep(rng.uniform(0, 0.2))
    run.tally.leave("http1 halves")
    if rng.random() < 0.5:
        reset(writer.transport)
    writer.close()


async def _slow(run: Run, rng: random.Random) -> None:
    """A reader with little room that takes its time, and perhaps not all of it."""
    listener = run.listener(rng)
    reader, writer = await connect(run.addresses[listener], window=4096)
    try:
        ask, halts = run.ask(rng, listener, bodies=False), run.halts
        writer.write(_head(ask))
        await asyncio.sleep(rng.uniform(0, 1.0))
        if rng.random() < 0.3:
            run.tally.leave("http1 slow")
            return
        read_on(writer.transport)
        run.judge("http1 slow", ask, await _in_time(read_answer(reader, ask.method)), halts)
    finally:
        if rng.random() < 0.5:
            reset(writer.transport)
        writer.close()
