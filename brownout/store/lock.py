"""One process per SQLite file."""

import fcntl
import os
from pathlib import Path
from typing import Self

from brownout.store.errors import StoreInUse, StoreUnavailable


class FileLock:
    """A lock on `<database>.lock`, which the kernel releases when the process ends, however it ends.

    A file of its own, since closing any descriptor of the database would drop SQLite's locks on it (POSIX);
    never deleted, since a new file of that name would be another lock.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(f"{database.name}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnavailable(f"the database {database} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            process = f"process {holder}" if holder else "another process"
            raise StoreInUse(
                f"{database} belongs to {process}, which is still running: a SQLite database serves one "
                "process. Stop that process, or use PostgreSQL for several."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the lock up."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
