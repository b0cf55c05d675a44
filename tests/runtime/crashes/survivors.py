"""What the tests of crashes share: Envoys that have to survive, and what their clients have to get."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.runtime.profiles import always, faults, seconds
from tests.support import EnvoyProcess, RawResponse, exchange, route, wait_until

POSITIONS = ("upstream", "downstream", "both")
GRPC = [("content-type", "application/grpc"), ("te", "trailers")]
EMPTY_MESSAGE = b"\0\0\0\0\0"
FAULT_TEXT = b"fault filter abort: 503\n"
FILLER = b"0123456789abcdef"  # what the upstream fills a body of a given size with
TRAILERS = (("x-end", "1"), ("x-other", "2"))
HOLD = "40ms"
LATER = "100ms"
PACE = route("/pace", always(200, LATER))
_MOMENT = 1.0


class Envoys:
    """Envoys of one version, by configuration; one that has died is replaced for the next test."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._running: dict[str, EnvoyProcess] = {}

    @contextmanager
    def on(self, config: Mapping[str, Any]) -> Iterator[EnvoyProcess]:
        """An Envoy on that configuration, which has to live on and to have nothing left."""
        key = json.dumps(config, sort_keys=True)
        if key not in self._running:
            envoy = EnvoyProcess(config, version=self.version)
            envoy.start()
            self._running[key] = envoy
        try:
            with surviving(self._running[key]) as envoy:
                yield envoy
        except BaseException:
            self._running.pop(key).kill()
            raise

    def close(self) -> None:
        """Stop them all."""
        for envoy in self._running.values():
            envoy.stop()


@contextmanager
def surviving(envoy: EnvoyProcess) -> Iterator[EnvoyProcess]:
    """Say that Envoy has died where that is why a test fails; fail if something is held or in flight."""
    try:
        yield envoy
        wait_until(lambda: not envoy.left(), what="nothing held or in flight")
    except Exception as error:
        with suppress(subprocess.TimeoutExpired):
            code = envoy.process.wait(_MOMENT)
            raise AssertionError(f"Envoy {envoy.version} died: exit {code}") from error
        if envoy.running:
            error.add_note(f"left: {envoy.left()}")
        raise


def wait_held(envoy: EnvoyProcess, count: int = 1) -> None:
    """Wait until so many responses are held, wherever that is."""

    def held() -> int:
        return sum(int(value) for name, value in envoy.left().items() if name.endswith("held"))

    wait_until(lambda: held() >= count, what=f"{count} held")


def wait_due(envoy: EnvoyProcess) -> None:
    """Wait until what is held by `HOLD` now is due: a request begun now, with a longer delay, has its answer.

    The configuration needs the route `PACE`.
    """
    assert exchange(envoy.address(), path="/pace").status == 200


@dataclass(frozen=True)
class Outcome:
    """What a client has to get; `delay` only where the position promises it."""

    status: int = 200
    body: bytes = b"ok\n"
    trailers: tuple[tuple[str, str], ...] = ()
    delay: str | None = HOLD

    def check(self, answer: RawResponse) -> None:
        """Compare."""
        got = (answer.status, len(answer.body), answer.complete, tuple(answer.trailers))
        assert got == (self.status, len(self.body), True, self.trailers)
        assert answer.body == self.body
        if self.delay is not None:
            assert taken(answer) >= seconds(self.delay) - 1e-6


def taken(answer: RawResponse) -> float:
    """Seconds that a response took with its delay, by its own account."""
    found = faults(answer)
    return seconds(found["x-fault-actual-upstream"]) + seconds(found.get("x-fault-added-delay", "0s"))


def promised(position: str, *, alone: bool = True) -> str | None:
    """The delay that a position promises; `alone` is whether the cluster's filter alone does, too."""
    return HOLD if alone or position != "upstream" else None


def cluster_counter(envoy: EnvoyProcess, name: str, cluster: str = "upstream") -> int:
    """A counter of the cluster's filter."""
    return envoy.stat(f"cluster.{cluster}.brownout.{name}")
