"""What the server counts, for Prometheus.

A push to a thousand streams counts some ten thousand times, so the loop adds to plain integers, and the
families are made when somebody asks for them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from xds_server.types import ORDER, TypeInfo

_PREFIX = "brownout_xds_"
_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0)


class Tally:
    """A number that goes up and, in a gauge, down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, by: float = 1) -> None:
        """Add."""
        self.value += by

    def dec(self) -> None:
        """Take one away."""
        self.value -= 1

    def set(self, value: float) -> None:
        """Replace the number."""
        self.value = value


class Times:
    """A histogram of seconds."""

    __slots__ = ("_counts", "_sum")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return Prometheus' cumulative buckets, and the sum."""
        names, total, found = (*map(str, _BOUNDS), "+Inf"), 0, []
        for name, count in zip(names, self._counts, strict=True):
            total += count
            found.append((name, float(total)))
        return found, self._sum


def _per_type() -> dict[TypeInfo, Tally]:
    return {kind: Tally() for kind in ORDER}


class Metrics(Collector):
    """The metrics of one server; all names begin with `brownout_xds_`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.streams = {False: Tally(), True: Tally()}
        self.pushes = _per_type()
        self.bytes = _per_type()
        self.acks = _per_type()
        self.nacks = _per_type()
        self.latency = {kind: Times() for kind in ORDER}
        self.refused = Tally()
        self.queue = Tally()
        self.problems = Tally()
        self.push = Times()
        self.compile = Times()
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        streams = {"sotw": self.streams[False], "delta": self.streams[True]}
        yield _gauge("streams", "Open streams", streams, label="variant")
        yield _counter("pushes", "Responses sent", self.pushes)
        yield _counter("sent_bytes", "Bytes of responses sent", self.bytes)
        yield _counter("acks", "Responses that an Envoy accepted", self.acks)
        yield _counter("nacks", "Responses that an Envoy rejected", self.nacks)
        yield CounterMetricFamily(
            f"{_PREFIX}refused", "Streams that were refused: nodes kept out", value=self.refused.value
        )
        yield _gauge(
            "queue_depth", "Streams that were told of a change and have not sent it yet", {"": self.queue}
        )
        yield _gauge("left_out", "Entries that cannot be compiled and are not delivered", {"": self.problems})
        latencies: dict[str, Times] = {kind.key: each for kind, each in self.latency.items()}
        yield _histogram("ack_seconds", "From a response to its ACK or NACK", latencies, label="type")
        yield _histogram("push_seconds", "From a change until a stream has sent it", {"": self.push})
        yield _histogram("compile_seconds", "To compile a catalog", {"": self.compile})


def _labels(label: str) -> Iterable[str]:
    return [label] if label else []


def _counter(name: str, text: str, tallies: Mapping[TypeInfo, Tally]) -> CounterMetricFamily:
    family = CounterMetricFamily(_PREFIX + name, text, labels=["type"])
    for kind, tally in tallies.items():
        family.add_metric([kind.key], tally.value)
    return family


def _gauge(name: str, text: str, tallies: Mapping[str, Tally], label: str = "") -> GaugeMetricFamily:
    family = GaugeMetricFamily(_PREFIX + name, text, labels=list(_labels(label)))
    for value, tally in tallies.items():
        family.add_metric(list(_labels(value)), tally.value)
    return family


def _histogram(name: str, text: str, times: Mapping[str, Times], label: str = "") -> HistogramMetricFamily:
    family = HistogramMetricFamily(_PREFIX + name, text, labels=list(_labels(label)))
    for value, each in times.items():
        buckets, total = each.buckets()
        family.add_metric(list(_labels(value)), buckets, total)
    return family
