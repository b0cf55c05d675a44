"""What the exit code of a REST command says."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, as docs/reference/cli.md lists them."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_CONVERGED = 4
    REJECTED = 5
