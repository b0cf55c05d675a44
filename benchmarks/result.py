"""What a benchmark hands back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """One measured number.

    Attributes:
        name: what was measured, unique in its benchmark.
        value: the number.
        unit: its unit: `ns`, `ms`, `KiB`, `instructions`, `ratio` (in this run).
        limit: what it must not exceed (or, with `at_least`, reach); None for a number that only informs.
        at_least: whether `limit` is a lower bound.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether it keeps its limit; None without one."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit
