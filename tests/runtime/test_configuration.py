"""How configurations reach the filter, and how it refuses them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from brownout.profile import ValidationFailed, load_filter_config, load_route_config
from tests.support import EnvoyProcess, Upstream, exchange, route, static_bootstrap, wait_until

from .discovery import with_routes_from, write_routes
from .profiles import always, faults, profile

ANY = "type.googleapis.com/google.protobuf."
BAD: dict[str, Any] = {
    "responses": [
        {"status": 99, "resolution": 0, "distribution": {"p0": "5ms", "p50": "1ms"}},
        {"status": "200", "resolution": 1, "distribution": {"pbad": "1ms"}},
    ],
    "colour": "red",
}


def refused_lines(log: str) -> list[str]:
    """What the module said, one finding a line."""
    return [line.partition("brownout: ")[2] for line in log.splitlines() if "configuration refused" in line]


def messages(load: Any, raw: str) -> list[str]:
    """What the profile language says of a configuration."""
    with pytest.raises(ValidationFailed) as refused:
        load(raw)
    return str(refused.value).splitlines()


def test_a_bad_route_configuration_at_start(version: str) -> None:
    """Envoy exits with 1, and its log has every finding with its path, at level error."""
    with EnvoyProcess(static_bootstrap(1, routes=[route("/", BAD)]), version=version, wait="none") as envoy:
        assert envoy.wait_exit() == 1
        log = envoy.log
    expected = [
        f"route configuration refused: {line}" for line in messages(load_route_config, json.dumps(BAD))
    ]
    assert len(expected) >= 5
    assert refused_lines(log) == expected
    assert all("[error][dynamic_modules]" in line for line in log.splitlines() if "brownout: " in line)


def test_a_bad_filter_configuration_at_start() -> None:
    """The same at filter level, with the path into `endpoints`."""
    bad = {"endpoints": [always(200), BAD]}
    with EnvoyProcess(static_bootstrap(1, filter_config=bad), wait="none") as envoy:
        assert envoy.wait_exit() == 1
        log = envoy.log
    expected = [
        f"filter configuration refused: {line}" for line in messages(load_filter_config, json.dumps(bad))
    ]
    assert refused_lines(log) == expected
    assert any("endpoints[1].responses[1].distribution.pbad" in line for line in expected)


def test_endpoints_are_refused_per_route() -> None:
    """A route's configuration has the direct shape: Envoy has matched the route already."""
    with EnvoyProcess(static_bootstrap(1, routes=[route("/", {"endpoints": []})]), wait="none") as envoy:
        assert envoy.wait_exit() == 1
        (line,) = (line for line in refused_lines(envoy.log) if "endpoints" in line)
    assert "filter-level" in line


@pytest.mark.parametrize(
    "raw", ["\x00", "[1, 2", "- a: *b", "&a [*a]", "{" * 5000, "é" * 10, "responses: " + "9" * 10_000]
)
def test_nonsense_is_refused_without_harm(raw: str) -> None:
    """No document at all is one clear refusal."""
    with EnvoyProcess(static_bootstrap(1, routes=[route("/", raw)]), wait="none") as envoy:
        assert envoy.wait_exit() == 1
        assert refused_lines(envoy.log)


@pytest.mark.parametrize("kind", ["StringValue", "BytesValue", "Struct"])
def test_payload_kinds(kind: str, version: str) -> None:
    """A configuration may come as text, as bytes, or as a Struct."""
    config = always(503, "1ms")
    text = json.dumps(config)
    values = {"StringValue": text, "BytesValue": base64.b64encode(text.encode()).decode(), "Struct": config}
    rule = route("/", config)
    rule["typed_per_filter_config"]["brownout"]["filter_config"] = {
        "@type": ANY + kind,
        "value": values[kind],
    }
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[rule]), version=version) as envoy,
    ):
        assert exchange(envoy.address()).status == 503


def test_yaml_text() -> None:
    """A StringValue may hold YAML."""
    text = "responses:\n  - status: 418\n    resolution: 3\n    distribution: {p0: 1ms, p100: 1ms}\n"
    with (
        Upstream() as upstream,
        EnvoyProcess(static_bootstrap(upstream.port, routes=[route("/", text)])) as envoy,
    ):
        assert exchange(envoy.address()).status == 418


def test_a_route_replaces_the_filters_own() -> None:
    """Where a route has a configuration, the filter's own does not apply."""
    routes = [route("/mine", always(418)), route("/")]
    with Upstream() as upstream:
        config = static_bootstrap(upstream.port, routes=routes, filter_config=always(503))
        with EnvoyProcess(config) as envoy:
            assert exchange(envoy.address(), path="/mine").status == 418
            assert exchange(envoy.address(), path="/other").status == 503


def test_a_reload_changes_what_is_injected_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    """The running process takes up a new profile from a file, and refuses a bad one with its message."""
    path = tmp_path / "routes.json"
    write_routes(path, [route("/", always(418))], "1")
    with Upstream() as upstream, EnvoyProcess(with_routes_from(path, upstream.port)) as envoy:
        assert exchange(envoy.address()).status == 418
        write_routes(path, [route("/", always(503))], "2")
        wait_until(lambda: exchange(envoy.address()).status == 503)
        write_routes(path, [route("/", BAD)], "3")
        envoy.wait_log("responses[1].distribution.pbad")
        assert exchange(envoy.address()).status == 503
        write_routes(path, [route("/")], "4")
        wait_until(lambda: exchange(envoy.address()).status == 200)


def test_a_push_of_equal_bytes_restarts_no_cycle(tmp_path: Path) -> None:
    """A configuration that differs only in its label goes on in the cycle: no sample comes twice."""
    samples = 40
    cycle = {"status": 200, "resolution": samples, "distribution": {"p0": "0s", "p100": "40us"}}
    path = tmp_path / "routes.json"
    write_routes(path, [route("/", profile(cycle, endpoint="e"))], "0")
    with Upstream() as upstream, EnvoyProcess(with_routes_from(path, upstream.port)) as envoy:
        targets = []
        for push in range(8):
            label = f"label-{push}"
            write_routes(path, [route("/", profile(cycle, endpoint="e", label=label))], label)
            # What the probe draws counts too.
            while True:
                found = faults(exchange(envoy.address()))
                targets.append(found["x-fault-injected-delay"])
                if found.get("x-fault-profile") == label:
                    break
        while len(targets) % samples:
            targets.append(faults(exchange(envoy.address()))["x-fault-injected-delay"])
    expected = sorted(f"{(2 * k + 1) * 500}ns" if k == 0 else f"{k}.5µs" for k in range(samples))
    for start in range(0, len(targets), samples):
        assert sorted(targets[start : start + samples]) == expected
