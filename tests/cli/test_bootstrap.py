"""What `brownout bootstrap` prints, checked by Envoy itself."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from brownout.profile import SCHEMA_VERSION
from tests.cli.running import brownout
from tests.support import MODULE_FOLDER, OLDER, REFERENCE, envoy_binary

MODES = ["gateway", "routes", "filter"]
XDS = ("--xds", "127.0.0.1:18000")


def printed(*arguments: str) -> dict[str, Any]:
    answer = brownout("bootstrap", "--fleet", "edge", *XDS, "--json", *arguments)
    assert answer.returncode == 0, answer.stderr
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("protocol", ["delta", "sotw"])
@pytest.mark.parametrize("version", [REFERENCE, *OLDER])
def test_envoy_takes_it(mode: str, protocol: str, version: str, tmp_path: Path) -> None:
    """Every Envoy version accepts the YAML of every mode and protocol, none of it deprecated."""
    answer = brownout("bootstrap", "--fleet", "edge", *XDS, "--mode", mode, "--protocol", protocol)
    config = tmp_path / "envoy.yaml"
    config.write_text(answer.stdout)
    check = subprocess.run(
        [envoy_binary(version), "--mode", "validate", "--disable-hot-restart", "-c", config],
        env={"ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(MODULE_FOLDER)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr
    # Older Envoys say this of the module itself, which is built for the reference version.
    warnings = [line for line in check.stderr.splitlines() if "deprecated" in line.lower()]
    assert [line for line in warnings if "Dynamic module ABI version" not in line] == []


def test_yaml_and_json_are_the_same() -> None:
    """The YAML and the JSON form hold the same document."""
    text = brownout("bootstrap", "--fleet", "edge", *XDS, "--node-id", "a").stdout
    assert YAML(typ="safe", pure=True).load(text) == printed("--node-id", "a")


def test_node_says_who_it_is() -> None:
    """The node carries id, fleet, locality, metadata and the schema version of this installation's module."""
    document = printed("--node-id", "e1", "--locality", "eu/eu-1", "--metadata", "tier=canary")
    assert document["node"] == {
        "id": "e1",
        "cluster": "edge",
        "locality": {"region": "eu", "zone": "eu-1"},
        "metadata": {"tier": "canary", "brownout": {"schema_version": SCHEMA_VERSION}},
    }


@pytest.mark.parametrize("mode", MODES)
def test_node_is_sent_once_per_stream(mode: str) -> None:
    """Envoy does not repeat its 61 KB node with every request."""
    assert '"set_node_on_first_message_only": true' in json.dumps(printed("--mode", mode))


@pytest.mark.parametrize(("mode", "disabled"), [("routes", True), ("filter", False)])
def test_the_filter_is_in_both_places(mode: str, disabled: bool) -> None:
    """The example's listener has the filter before the router, and its cluster (if any) before the codec.

    Both entries are the same. Only a filter that routes enable is disabled.
    """
    resources = printed("--mode", mode)["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    chains = [manager["http_filters"]]
    for cluster in resources["clusters"][1:]:
        (options,) = cluster["typed_extension_protocol_options"].values()
        chains.append(options["http_filters"])
    names = [["brownout", f"envoy.filters.http.{last}"] for last in ("router", "upstream_codec")]
    assert [[each["name"] for each in chain] for chain in chains] == names[: 1 if mode == "routes" else 2]
    assert all(chain[0] == chains[0][0] for chain in chains)
    assert chains[0][0].get("disabled", False) is disabled


def test_yaml_can_be_copied_in_parts() -> None:
    """No part of the YAML is an alias of another."""
    for mode in MODES:
        assert "&id" not in brownout("bootstrap", "--fleet", "edge", *XDS, "--mode", mode).stdout


def test_a_place_that_is_left_out() -> None:
    """A zone that is not given is none, and no sub-zone becomes it."""
    assert printed("--locality", "eu//rack-7")["node"]["locality"] == {"region": "eu", "sub_zone": "rack-7"}


def test_replicas() -> None:
    """Several addresses become several hosts of the control plane's cluster; names make it ask DNS."""
    [cluster] = printed("--xds", "replica.example:18000")["static_resources"]["clusters"]
    [locality] = cluster["load_assignment"]["endpoints"]
    hosts = [each["endpoint"]["address"]["socket_address"]["address"] for each in locality["lb_endpoints"]]
    assert (cluster["type"], hosts) == ("STRICT_DNS", ["127.0.0.1", "replica.example"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "proxy"), "proxy"),
        (("--locality", "a/b/c/d"), "expected REGION[/ZONE[/SUB_ZONE]], not 'a/b/c/d'"),
        (("--metadata", "tier"), "expected KEY=VALUE, not 'tier'"),
        (("--metadata", "=canary"), "expected KEY=VALUE, not '=canary'"),
        (("--metadata", "a=1", "--metadata", "a=2"), "the key 'a' is given twice"),
        (("--node-id", ""), "expected a name that is unique in the fleet"),
        (("--xds", "127.0.0.1:0"), "expected the port of a control plane, not '127.0.0.1:0'"),
        (("--metadata", "brownout=1"), "the key 'brownout' is Brownout's own"),
        (("--admin", "9901"), "expected HOST:PORT"),
        (("--fleet", "No Such"), "'No Such': expected"),
    ],
)
def test_bad_options(arguments: tuple[str, ...], message: str) -> None:
    """A malformed option is an error of usage that says what was expected."""
    answer = brownout("bootstrap", "--fleet", "edge", *XDS, *arguments)
    assert answer.returncode == 2
    assert message in " ".join(answer.stderr.replace("│", " ").split())
