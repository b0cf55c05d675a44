"""WebSockets and tunnels in the soak: held or refused first, and then bytes in both directions."""

import asyncio
import random
from contextlib import suppress

from .answers import Answer
from .asks import Run
from .http1 import BROKEN, body_of, connect, fields_of, reset
from .places import CHANGING, COMING, WEBSOCKET
from .upstream import REFUSED

_OPENINGS = {
    "websocket": b"GET /websocket HTTP/1.1\r\nhost: %b\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "connect": b"CONNECT %b HTTP/1.1\r\nhost: a\r\n\r\n",
}
_HOSTS = (b"a:1", b"a:1", b"a:1", REFUSED)
BY_ENVOY = 403  # where tunnels are not configured
_OPENED = {"websocket": 101, "connect": 200}


async def client(run: Run, kind: str, number: int) -> None:
    """One tunnel after the other; some are left before they are open."""
    rng = run.rng(kind, number)
    listeners = [name for name in run.addresses if name not in {CHANGING, COMING}]
    while run.going:
        with suppress(ConnectionError):
            reader, writer = await connect(run.addresses[rng.choice(listeners)])
            try:
                host = rng.choice(_HOSTS)
                writer.write(_OPENINGS[kind] % host)
                if rng.random() < 0.2:
                    await asyncio.sleep(rng.uniform(0, 0.03))
                    run.tally.leave(kind)
                else:
                    answer, echoed = await _use(kind, reader, writer, rng, echoes=host != REFUSED)
                    _judge(run, kind, answer, echoed=echoed, refused=host == REFUSED)
            finally:
                if rng.random() < 0.5:
                    reset(writer.transport)
                writer.close()


async def _use(
    kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rng: random.Random, *, echoes: bool
) -> tuple[Answer, bool]:
    """Read the answer and use the tunnel, if there is one; say whether it did what it should."""
    answer, echoed = Answer(), True
    with suppress(*BROKEN):
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != _OPENED[kind]:
            answer.body, _ = await body_of(reader, fields_of(head), bodiless=False)
        elif echoes:
            for _ in range(rng.randint(0, 5)):
                data = rng.randbytes(rng.choice((1, 100, 10_000)))
                writer.write(data)
                echoed = echoed and await reader.readexactly(len(data)) == data
        answer.status = status
    return answer, echoed


def _judge(run: Run, kind: str, answer: Answer, *, echoed: bool, refused: bool) -> None:
    run.tally.count(kind, kind, answer.status)
    if answer.status in {_OPENED[kind], BY_ENVOY}:
        good = echoed
    elif answer.status == 503:
        good = answer.body == WEBSOCKET.forced[503]
    else:  # the drawn success takes the place of the upstream's refusal
        good = refused and answer.status in {200, 404}
    if not good:
        run.tally.complain(f"{kind}: {answer}, echoed: {echoed}, refused: {refused}")
