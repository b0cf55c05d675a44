"""`python -m brownout_cli.up.child PARENT COMMAND …`: a command that ends when its parent does."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGTERM at the parent's death (it survives exec), then become the command."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = int(sys.argv[1])
    if os.getppid() == parent:  # it may have died before the request was made
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the point of it


if __name__ == "__main__":
    main()
