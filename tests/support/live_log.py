"""The output of a process, readable while it runs."""

import threading
import time
from typing import IO


class LiveLog:
    """Reads a stream to its end in a thread."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._stream as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def join(self) -> None:
        """Wait for its end."""
        self._reader.join()

    def text(self, last: int = 0) -> str:
        """All that has come, or the last lines of it."""
        with self._news:
            return "".join(self._lines[-last:])

    def wait(self, text: str, timeout: float) -> str:
        """Wait for a line that contains `text`, and return the first such line.

        Raises AssertionError, with the last lines, after `timeout` seconds or at the end of the stream.
        """
        deadline = time.monotonic() + timeout
        seen = 0
        with self._news:
            while True:
                for line in self._lines[seen:]:
                    if text in line:
                        return line
                seen = len(self._lines)
                remaining = deadline - time.monotonic()
                if self._ended or remaining <= 0:
                    why = "it ended" if self._ended else f"not within {timeout} s"
                    raise AssertionError(f"{text!r} was not logged ({why}):\n{''.join(self._lines[-30:])}")
                self._news.wait(remaining)
