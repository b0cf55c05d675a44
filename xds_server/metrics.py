"""What the server counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from xds_server.types import ORDER, TypeInfo

_LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0)


class Metrics:
    """The metrics of one server; all names begin with `brownout_xds_`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def per_type(name: str, help_: str) -> dict[TypeInfo, Counter]:
            counter = Counter(f"brownout_xds_{name}", help_, ["type"], registry=registry)
            return {kind: counter.labels(kind.key) for kind in ORDER}

        streams = Gauge("brownout_xds_streams", "Open streams", ["variant"], registry=registry)
        self.streams = {False: streams.labels("sotw"), True: streams.labels("delta")}
        self.pushes = per_type("pushes", "Responses sent")
        self.bytes = per_type("sent_bytes", "Bytes of responses sent")
        self.acks = per_type("acks", "Responses that an Envoy accepted")
        self.nacks = per_type("nacks", "Responses that an Envoy rejected")
        self.queue = Gauge(
            "brownout_xds_queue_depth",
            "Streams that have been told of a change and not sent it yet",
            registry=registry,
        )
        self.push = Histogram(
            "brownout_xds_push_seconds",
            "From a change to the last response that a stream is sent for it",
            buckets=_LATENCIES,
            registry=registry,
        )
        latency = Histogram(
            "brownout_xds_ack_seconds",
            "From a response to its ACK or NACK",
            ["type"],
            buckets=_LATENCIES,
            registry=registry,
        )
        self.latency = {kind: latency.labels(kind.key) for kind in ORDER}
        self.compile = Histogram(
            "brownout_xds_compile_seconds", "To compile a catalog", buckets=_LATENCIES, registry=registry
        )
        self.problems = Gauge(
            "brownout_xds_left_out",
            "Entries that could not be compiled and are not delivered",
            registry=registry,
        )
