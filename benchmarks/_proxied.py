"""An Envoy that proxies to another Envoy, with the module or Envoy's own fault filter in between."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import EnvoyProcess, route, static_bootstrap

FAULT = "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault"
BODY = "ok\n"


@contextmanager
def answering_envoy() -> Iterator[int]:
    """An Envoy that answers every request itself, at once; its port."""
    answer = {"status": 200, "body": {"inline_string": BODY}}
    routes = [{"match": {"prefix": "/"}, "direct_response": answer}]
    with EnvoyProcess(static_bootstrap(1, routes=routes, position="none")) as envoy:
        yield envoy.address()[1]


def delay(duration: str) -> dict[str, Any]:
    """A profile of the upstream's own status after a constant time."""
    return {
        "responses": [{"status": 200, "resolution": 1, "distribution": {"p0": duration, "p100": duration}}]
    }


def fault_route(prefix: str, duration: str) -> dict[str, Any]:
    """A route on which Envoy's own fault filter delays every request."""
    fixed = {"fixed_delay": duration, "percentage": {"numerator": 100}}
    return route(prefix) | {"typed_per_filter_config": {"fault": {"@type": FAULT, "delay": fixed}}}


def with_fault_filter(config: dict[str, Any]) -> dict[str, Any]:
    """The bootstrap with Envoy's own fault filter, which does nothing where no route asks for it."""
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["http_filters"].insert(0, {"name": "fault", "typed_config": {"@type": FAULT}})
    return config
