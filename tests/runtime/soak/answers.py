"""What the clients of the soak ask, what came, and how much of it may not come."""

import time
from collections import Counter
from dataclasses import dataclass, field

HUNG = -1
MOST_WRONG = 20


@dataclass
class Answer:
    """What came: status 0 unless it came whole, `HUNG` if nothing more was to be expected."""

    status: int = 0
    body: bytes = b""
    trailers: bool = False


@dataclass
class Tally:
    """Counts of all clients.

    Attributes:
        requests: how many have an end, by kind of client.
        seen: answers by kind of client, place and status.
        left: how many their clients gave up, by kind of client.
        wrong: the first few that may not have come.
    """

    requests: Counter[str] = field(default_factory=Counter)
    seen: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def count(self, client: str, place: str, status: int, number: int = 1) -> None:
        """Count requests that have an answer."""
        self.requests[client] += number
        self.seen[client, place, status] += number

    def leave(self, client: str) -> None:
        """Count a request that its client gave up."""
        self.requests[client] += 1
        self.left[client] += 1

    def complain(self, what: str) -> None:
        """Note what may not come."""
        if len(self.wrong) < MOST_WRONG:
            self.wrong.append(what)

    def line(self) -> str:
        """What there is so far."""
        seconds = time.monotonic() - self.begun
        total = self.requests.total()
        kinds = ", ".join(f"{client} {number:,}" for client, number in sorted(self.requests.items()))
        return f"{seconds:6.0f} s  {total:>11,} requests  {total / seconds:>7,.0f}/s  ({kinds})"
