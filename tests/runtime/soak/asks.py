"""The requests of the soak's own clients, and the judgement on what comes."""

import random
from dataclasses import dataclass, field

from .answers import HUNG, Answer, Tally
from .places import CHANGING, COMING, PLACES, STABLE, Place
from .shapes import MOST, Shape, hard_shape, random_shape

Address = tuple[str, int]
PATIENCE = 180.0
UPLOADS = (1000, 20_000, 61_000, 300_000)
_LARGE = 3  # with less the kernel's buffers take it all
OFTEN = [name for name in PLACES if name not in {"leave", "redirect"}]


@dataclass(frozen=True)
class Ask:
    """A request.

    Attributes:
        method: GET, HEAD or POST.
        kind: which cluster.
        name: which place.
        shape: what the upstream does; of a redirect, at its target.
        upload: size of the request's body; 0: none.
        pause: seconds after which the body's second half follows, if no answer has come by then.
        leave: seconds after which the client is gone, answered or not; None: it waits for the answer.
        rough: whether Envoy may break it off: its listener or cluster changes.
    """

    method: str
    kind: str
    name: str
    shape: Shape
    upload: int = 0
    pause: float = 0.0
    leave: float | None = None
    rough: bool = False

    @property
    def path(self) -> str:
        """Its path and query."""
        shape = self.shape
        if self.name == "redirect":
            shape = Shape(
                status=302, size=shape.size % 40_000, to=f"http://a/{self.kind}/delay?{shape.query}"
            )
        return f"/{self.kind}/{self.name}?{shape.query}"

    @property
    def may_be_early(self) -> bool:
        """Whether the answer may come before the request has ended.

        Envoy resets an HTTP/2 stream then if the client's window does not take the answer at once.
        """
        return bool(self.upload and (self.shape.early or self.place.others))

    @property
    def place(self) -> Place:
        """Where it goes."""
        return PLACES[self.name]


@dataclass
class Run:
    """What all clients share.

    Attributes:
        addresses: of the listeners, by name.
        seed: of everything random.
        niceness: of h2load, which would take all the time of a small machine from the other clients.
        tally: what has come so far.
        going: whether to go on.
        halts: grows when a halt begins and when it is over for good; what met an odd number, or two, may be
            the upstream's own.
    """

    addresses: dict[str, Address]
    seed: int
    niceness: int = 0
    tally: Tally = field(default_factory=Tally)
    going: bool = True
    halts: int = 0

    def rng(self, *who: object) -> random.Random:
        """The random numbers of one client."""
        return random.Random(f"{self.seed} {who}")

    def listener(self, rng: random.Random) -> str:
        """A listener, mostly one that stays as it is."""
        stable = [name for name in self.addresses if name not in {CHANGING, COMING}]
        return rng.choices([CHANGING, COMING, rng.choice(stable)], [10, 4, 86])[0]

    def ask(self, rng: random.Random, listener: str, *, bodies: bool = True) -> Ask:
        """Any request; without `bodies`, one that is sent at once and waits for its answer."""
        kind = rng.choices([*STABLE, CHANGING, COMING], [40, 40, 14, 6])[0]
        rough = bool({kind, listener} & {CHANGING, COMING})
        leave = rng.uniform(0, 0.06) if bodies and rng.random() < 0.08 else None
        if leave is not None and rng.random() < 0.3:
            return Ask("GET", kind, "leave", Shape(), leave=leave, rough=rough)
        if rng.random() < 0.03:
            shape = Shape(size=rng.choice((3, 5000, 40_000)), tail=rng.choice((0, 20)))
            return Ask("GET", rng.choice(STABLE), "redirect", shape, leave=leave, rough=rough)
        name = rng.choice(OFTEN)
        if rng.random() < 0.3:
            return Ask("GET", kind, name, hard_shape(rng), leave=leave, rough=rough)
        upload = rng.choice(UPLOADS) if bodies and PLACES[name].uploads and rng.random() < 0.15 else 0
        return Ask(
            method="POST" if upload else "HEAD" if rng.random() < 0.03 else "GET",
            kind=kind,
            name=name,
            shape=random_shape(rng, rough=kind in {CHANGING, COMING}, upload=upload > 0),
            upload=upload,
            pause=rng.choice((0.0, rng.uniform(0, 0.08), 0.3)),
            leave=leave,
            rough=rough,
        )

    def backlog(self, rng: random.Random, listener: str, number: int) -> list[Ask]:
        """Large answers, which fill a connection that nobody reads, and small ones that are held then."""
        kinds, rough = rng.choices(STABLE, k=number + _LARGE), listener in {CHANGING, COMING}
        names = ["delay"] * _LARGE + rng.choices(("late", "late", "retry", "mixed", "percent"), k=number)
        shapes = [Shape(size=MOST)] * _LARGE + [
            Shape(size=5, tail=rng.choice((0, 20))) for _ in range(number)
        ]
        return [Ask("GET", *ask, rough=rough) for ask in zip(kinds, names, shapes, strict=True)]

    def judge(self, client: str, ask: Ask, answer: Answer, halts: int) -> None:
        """Count an answer, and complain if it may not come; `halts` as it was when the request was sent."""
        if ask.leave is not None and not answer.status:
            self.tally.leave(client)
            return
        self.tally.count(client, ask.name, answer.status)
        if client.startswith("http2") and not answer.status and ask.may_be_early:
            return
        halted = halts % 2 == 1 or halts != self.halts
        if answer.status == HUNG or not ask.place.allows(
            answer, ask.shape, method=ask.method, rough=ask.rough, halted=halted
        ):
            body = f"{len(answer.body)} bytes {answer.body[:40]!r}, trailers {answer.trailers}"
            self.tally.complain(f"{client} {ask} halts {halts}/{self.halts}: {answer.status}, {body}")
