"""The load of the soak: what its clients ask for, and whether what comes is what may come."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from .http1 import Address, Answer, Ask, http1
from .http2 import Http2
from .scenario import CLUSTERS, PLACES

CONNECTIONS = {"http1": 18, "http2": 6, "shared http2": 3}
STREAMS = 8
ON_ONE_CONNECTION = 60
EARLY = [name for name in PLACES if name.startswith("early")]
PLAIN = [name for name in PLACES if name not in EARLY and name != "leave"]
OFTEN = ["mixed"] * 12 + ["hedge", "retry", "slow", "expiring"]
Seen = tuple[str, str, str, int]


@dataclass
class Load:
    """Clients of both protocols that ask until the time is over.

    Attributes:
        address: of the listener with small buffers.
        shared: of the one for connections with several streams at a time.
        until: when to stop, by `time.monotonic()`.
        halts: grows when a halt begins and when it is over for good; what met an odd number, or two, may be
            the upstream's own.
        seen: answers by the client's protocol, the upstream's, place and status (0: none came whole).
        left: how many requests their clients gave up.
        wrong: what may not come.
    """

    address: Address
    shared: Address
    until: float
    halts: int = 0
    seen: Counter[Seen] = field(default_factory=Counter)
    left: int = 0
    wrong: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """All clients."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS["http1"]):
                group.create_task(self._over_http1())
            for _ in range(CONNECTIONS["http2"]):
                group.create_task(self._over_http2())
            for _ in range(CONNECTIONS["shared http2"]):
                group.create_task(self._over_shared_http2())

    async def _over_http1(self) -> None:
        while time.monotonic() < self.until:
            asks, halts = [self._any() for _ in range(10)], self.halts
            for ask, answer in zip(asks, await http1(self.address, asks), strict=False):
                self._note("http1", ask, answer, halts)

    async def _over_http2(self) -> None:
        while time.monotonic() < self.until:
            connection = await Http2.connect(self.address)
            try:
                while await self._ask(connection):
                    pass
            finally:
                connection.close()

    async def _over_shared_http2(self) -> None:
        while time.monotonic() < self.until:
            connection = await Http2.connect(self.shared)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(STREAMS):
                        group.create_task(self._stream(connection))
            finally:
                connection.close()

    async def _stream(self, connection: Http2) -> None:
        for _ in range(ON_ONE_CONNECTION // STREAMS):
            await self._ask(connection)

    async def _ask(self, connection: Http2) -> bool:
        """Ask something, and say whether nothing of it can be left on the connection."""
        ask, halts = self._any(), self.halts
        answer = await connection.ask(ask)
        self._note("http2", ask, answer, halts)
        return answer.status > 0 and ask.upload is None and ask.leave is None and random.random() < 0.9

    def _any(self) -> Ask:
        # When clients end or leave is in step with nothing that is held.
        kind, chance = random.choice(list(CLUSTERS)), random.random()
        leaves = chance < 0.06
        name = random.choice(OFTEN if chance > 0.3 else PLAIN)
        if chance < 0.12:
            name = random.choice([*EARLY, *EARLY, "leave", "large", "rewrite-large"] if leaves else EARLY)
        upload = random.choice([random.uniform(0, 0.08), 10.0]) if name in EARLY else None
        return Ask(f"/{kind}/{name}", upload, random.uniform(0, 0.03) if leaves else None)

    def _note(self, client: str, ask: Ask, answer: Answer, halts: int) -> None:
        _, kind, name = ask.path.split("/")
        if ask.leave is not None and not answer.status:
            self.left += 1
            return
        self.seen[client, kind, name, answer.status] += 1
        place = PLACES[name]
        own, content = place.own
        allowed = dict(place.answers)
        if (halts % 2 or halts != self.halts) and not place.upstream.reset:
            allowed.setdefault(own, content)
            if "timeout" in place.options:  # Envoy's may come amid what then passes
                allowed.setdefault(0, None)
        good = answer.status in allowed and allowed[answer.status] in {None, answer.body}
        if good and place.upstream.trailers and answer.status == own:
            good = answer.trailers
        if not good and len(self.wrong) < 20:
            body = f"{len(answer.body)} bytes {answer.body[:60]!r}"
            self.wrong.append(f"{client} {ask} {halts}/{self.halts}: {answer.status}, {body}")
