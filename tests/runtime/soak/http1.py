"""What the soak asks, and its HTTP/1.1 client: requests that end, hang or leave, at little cost."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

Address = tuple[str, int]
BROKEN = (asyncio.IncompleteReadError, ConnectionError)
PART = b"x" * 1000
REST = b"x" * 60_000
HUNG = -1
PATIENCE = 20.0


@dataclass
class Answer:
    """What came: status 0 unless it came whole, `HUNG` if nothing more was to be expected."""

    status: int = 0
    body: bytes = b""
    trailers: bool = False


@dataclass(frozen=True)
class Ask:
    """A request.

    Attributes:
        path: what for.
        upload: seconds after which the request's body ends (if no answer has come by then); None: no body.
        leave: seconds after which the client is gone, answered or not; None: it waits for the answer.
    """

    path: str
    upload: float | None = None
    leave: float | None = None


async def http1(address: Address, asks: list[Ask]) -> list[Answer]:
    """Requests one after the other on one connection, as long as it is kept; fewer answers when it is not."""
    reader, writer = await asyncio.open_connection(*address)
    answers = []
    try:
        for ask in asks:
            answers.append(await _http1(reader, writer, ask))
            if answers[-1].status <= 0 or ask.upload is not None or ask.leave is not None:
                break
    finally:
        writer.close()
    return answers


async def _http1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ask: Ask) -> Answer:
    method, body, length = "GET", b"", ""
    if ask.upload is not None:
        method, body, length = "POST", PART, f"content-length: {len(PART + REST)}\r\n"
    writer.write(f"{method} {ask.path} HTTP/1.1\r\nhost: a\r\n{length}\r\n".encode() + body)
    answer = asyncio.ensure_future(_read(reader))
    if not await _ended(answer, ask.upload) and ask.upload is not None:
        writer.write(REST)
    if not await _ended(answer, ask.leave) and ask.leave is not None:
        answer.cancel()
        return Answer()
    if await _ended(answer, PATIENCE):
        return await answer
    answer.cancel()
    return Answer(HUNG)


async def _ended(answer: asyncio.Future[Answer], seconds: float | None) -> bool:
    """Whether it ends in that time; at once if there is none."""
    if seconds is not None:
        await asyncio.wait([answer], timeout=seconds)
    return answer.done()


async def _read(reader: asyncio.StreamReader) -> Answer:
    answer = Answer()
    with suppress(*BROKEN):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if "\r\ntransfer-encoding: chunked" in head:
            pieces = []
            while size := int(await reader.readuntil(b"\r\n"), 16):
                pieces.append((await reader.readexactly(size + 2))[:-2])
            answer.body = b"".join(pieces)
            while line := (await reader.readuntil(b"\r\n")).strip():
                answer.trailers = line.startswith(b"x-end")
        else:
            length = int(head.partition("\r\ncontent-length: ")[2].partition("\r\n")[0])
            answer.body = await reader.readexactly(length)
        answer.status = int(head.split(" ", 2)[1])
    return answer
