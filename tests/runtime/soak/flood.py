"""h2load in the soak: most of its requests, over HTTP/1.1 and HTTP/2, with any windows and pipelines."""

import asyncio
import random
import re
import shutil
from dataclasses import dataclass

from .asks import Run
from .places import CHANGING, CHEAP, CHEAP_PLACES, COMING, Place, fault_text

SIZES = (0, 5, 200, 4000, 18_000, 100_000)
_SECONDS = 60
_STATUSES = re.compile(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx")
_REQUESTS = re.compile(r"requests: (\d+) total.* (\d+) errored, (\d+) timeout")
_TRAFFIC = re.compile(r"traffic: .*\((\d+)\) data")


def h2load() -> str:
    """The program."""
    found = shutil.which("h2load")
    assert found, "missing: h2load; get it: apt-get install nghttp2-client"
    return found


@dataclass(frozen=True)
class _Load:
    """A run of h2load.

    Attributes:
        place: which of `CHEAP_PLACES`.
        cluster: which of `CHEAP`.
        size: of each body.
        number: of requests.
        connections: at a time.
        streams: on each of them; over HTTP/1.1: pipelined.
        options: further ones.
    """

    place: str
    cluster: str
    size: int
    number: int
    connections: int
    streams: int
    options: tuple[str, ...] = ()

    @property
    def config(self) -> Place:
        return CHEAP_PLACES[self.place]

    def arguments(self, address: tuple[str, int]) -> list[str]:
        host, port = address
        counts = {"-n": self.number, "-c": self.connections, "-m": self.streams}
        return [
            *(str(word) for pair in counts.items() for word in pair),
            *self.options,
            "-N",
            f"{_SECONDS}s",
            f"http://{host}:{port}/{self.cluster}/{self.place}?size={self.size}",
        ]

    def findings(self, output: str) -> tuple[list[str], list[int]]:
        """What is wrong with what h2load says, and how many responses had a status of 200, 300, …."""
        codes, requests, traffic = (found.search(output) for found in (_STATUSES, _REQUESTS, _TRAFFIC))
        if not (codes and requests and traffic):
            return ["no results"], [0, 0, 0, 0]
        classes = [int(number) for number in codes.groups()]
        total, errored, late = (int(number) for number in requests.groups())
        failed = classes[3]
        # Over HTTP/1.1 it counts a status again when the status line came in two pieces.
        twice = sum(classes) - total
        wrong = []
        if errored or late or total != self.number or not 0 <= twice <= 20 * ("--h1" in self.options):
            wrong.append("not all have ended well")
        if classes[1] or classes[2] or (failed and 503 not in self.config.forced):
            wrong.append("statuses that may not come")
        more = len(fault_text(503)) - self.size
        bodies = {total * self.size + faults * more for faults in range(failed - twice, failed + 1)}
        if int(traffic[1]) not in bodies:
            wrong.append("bodies of a wrong length")
        return wrong, classes


def _load(rng: random.Random) -> _Load:
    """Mostly small bodies in many streams; then what fills buffers and connections."""
    cluster = rng.choice(CHEAP)
    if rng.random() < 0.65:
        http1 = rng.random() < 0.35
        return _Load(
            place=rng.choice(("pass", "brief", "brief", "delay", "mixed", "rewrite")),
            cluster=cluster,
            size=rng.choice(SIZES[:4]),
            number=12_000,
            connections=rng.choice((20, 50, 100)),
            streams=rng.choice((1, 4)) if http1 else rng.choice((4, 10)),
            options=("--h1",) if http1 else (),
        )
    if rng.random() < 0.5:  # what backs up the connection of a client that is never done
        return _Load("late", cluster, SIZES[-1], number=1500, connections=10, streams=20)
    windows = ("-w", str(rng.choice((14, 16, 20, 30))), "-W", str(rng.choice((16, 20, 30))))
    return _Load(
        place=rng.choice(("late", "late", "delay", "mixed", "rewrite")),
        cluster=cluster,
        size=rng.choice(SIZES[3:]),
        number=1500,
        connections=10,
        streams=20,
        options=("--h1",) if rng.random() < 0.3 else windows,
    )


async def client(run: Run, number: int) -> None:
    """One run of h2load after the other."""
    program, rng = h2load(), run.rng("h2load", number)
    listeners = [name for name in run.addresses if name not in {CHANGING, COMING}]
    while run.going:
        load, listener = _load(rng), rng.choice(listeners)
        process = await asyncio.create_subprocess_exec(
            *("nice", "-n", str(run.niceness), program),
            *load.arguments(run.addresses[listener]),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output = (await process.communicate())[0].decode()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        wrong, classes = load.findings(output)
        for index, answered in enumerate(classes):
            run.tally.count("h2load", load.place, 100 * (index + 2), answered)
        if wrong:
            run.tally.complain(f"h2load {load} on {listener}: {', '.join(wrong)}\n{output}")
