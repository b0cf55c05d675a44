"""Numbers of a Struct on real Envoys, whose YAML reader makes strings of some of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE
from tests.support import OLDER, REFERENCE, EnvoyProcess
from tests.support.bootstrap import cluster, module_filter, route, static_bootstrap

NUMBERS: list[dict[str, Any]] = [
    {"load_based": LOAD_BASED, "percent": 12.5, "seed": -123456789012345},
    {"responses": [{**RESPONSE, "resolution": 2**40}], "percent": 1e-3, "seed": 10**15},
]


def struct(config: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.protobuf.Struct", "value": config}


def bootstrap(*configs: dict[str, Any]) -> dict[str, Any]:
    """Return routes that carry the configurations as Structs."""
    routes = []
    for number, config in enumerate(configs):
        rule = route(f"/{number}", config)
        rule["typed_per_filter_config"]["brownout"]["filter_config"] = struct(config)
        routes.append(rule)
    return static_bootstrap(1, routes=routes)


def filter_level(config: dict[str, Any]) -> dict[str, Any]:
    """Return a filter-level configuration as a Struct."""
    entry = module_filter(config)
    entry["typed_config"]["filter_config"] = struct(config)
    document = static_bootstrap(1)
    document["static_resources"]["clusters"] = [cluster(1, filters=[entry])]
    return document


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_a_route_takes_every_kind_of_number_from_envoys_yaml_and_json(
    tmp_path: Path, version: str, suffix: str
) -> None:
    path = tmp_path / f"envoy.{suffix}"
    path.write_text(json.dumps(bootstrap(*NUMBERS)))
    with EnvoyProcess(path, version=version) as envoy:
        assert "refused" not in envoy.log


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_the_filter_level_takes_every_kind_of_number_from_envoys_yaml_and_json(
    tmp_path: Path, version: str, suffix: str
) -> None:
    path = tmp_path / f"envoy.{suffix}"
    path.write_text(json.dumps(filter_level({"endpoints": NUMBERS})))
    with EnvoyProcess(path, version=version) as envoy:
        assert "refused" not in envoy.log


@pytest.mark.parametrize("fields", [{"percent": "20"}, {"seed": "7"}])
def test_a_quoted_small_integer_stays_a_string(tmp_path: Path, fields: dict[str, object]) -> None:
    path = tmp_path / "envoy.yaml"
    path.write_text(json.dumps(bootstrap({**PROFILE, **fields})))
    with EnvoyProcess(path, wait="none") as envoy:
        assert envoy.wait_exit() == 1
        assert "found the string" in envoy.log
