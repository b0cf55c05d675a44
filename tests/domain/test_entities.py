"""Documents become entities and come back; every error at once, with its path and what was expected."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brownout.domain import Endpoint, Entity, Fleet, Profile, Upstream, ValidationFailed
from brownout.domain.scalars import LONGEST
from tests.support.certificates import Authority

SPEC: dict[str, Any] = {"responses": [{"status": 200, "resolution": 1, "distribution": {"p50": "20ms"}}]}
BREAKERS = {
    "max_connections": 10**6,
    "max_pending_requests": 10**6,
    "max_requests": 10**6,
    "max_retries": 10**6,
}

PROFILE: dict[str, Any] = {"name": "slow-checkout", "description": "", "spec": SPEC}
UPSTREAM: dict[str, Any] = {
    "name": "payments",
    "hosts": [{"address": "10.0.0.7", "port": 8080}],
    "protocol": "http1",
    "tls": None,
    "connect_timeout": "1s",
    "circuit_breakers": BREAKERS,
}
FLEET: dict[str, Any] = {
    "name": "edge",
    "mode": "gateway",
    "listeners": [{"name": "http", "address": "0.0.0.0", "port": 10000, "tls": None}],
    "certificates": [],
}
FAULT: dict[str, Any] = {
    "profile": "slow-checkout",
    "percent": 100,
    "expires_at": None,
    "nodes": None,
    "enabled": True,
    "headers": True,
}
ENDPOINT: dict[str, Any] = {
    "name": "pay",
    "match": {"hosts": ["*"], "prefix": "/pay", "exact": None, "methods": [], "headers": []},
    "upstream": "payments",
    "timeout": "15s",
    "retry": {"retry_on": "5xx", "attempts": 2, "per_try_timeout": None},
    "fault": FAULT,
}
MINIMAL: list[tuple[type[Entity], dict[str, Any], dict[str, Any]]] = [
    (Profile, {"name": "slow-checkout", "spec": SPEC}, PROFILE),
    (Upstream, {"name": "payments", "hosts": [{"address": "10.0.0.7", "port": 8080}]}, UPSTREAM),
    (Fleet, {"name": "edge", "listeners": [{"name": "http", "address": "0.0.0.0", "port": 10000}]}, FLEET),
    (
        Endpoint,
        {"name": "pay"},
        {
            "name": "pay",
            "match": {"hosts": ["*"], "prefix": None, "exact": None, "methods": [], "headers": []},
            "upstream": None,
            "timeout": None,
            "retry": None,
            "fault": None,
        },
    ),
]


def messages(model: type[Entity], document: Any) -> dict[str, str]:
    """Path and message of every error."""
    with pytest.raises(ValidationFailed) as caught:
        model.load(document)
    return {each.path: each.message for each in caught.value.errors}


@pytest.mark.parametrize(("model", "document", "full"), MINIMAL)
def test_defaults_are_filled_in(model: type[Entity], document: dict[str, Any], full: dict[str, Any]) -> None:
    """A document shows every field, in a stable order."""
    assert list(model.load(document).document().items()) == list(full.items())


@pytest.mark.parametrize(
    ("model", "document"), [(Profile, PROFILE), (Upstream, UPSTREAM), (Fleet, FLEET), (Endpoint, ENDPOINT)]
)
def test_a_document_comes_back_as_it_was(model: type[Entity], document: dict[str, Any]) -> None:
    """What is read again is equal, and shows the same."""
    entity = model.load(document)
    assert entity.document() == document
    assert model.load(entity.document()) == entity


@pytest.mark.parametrize("model", [Profile, Upstream, Fleet, Endpoint])
@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected a mapping of fields to values, found a list"),
        (None, "expected a mapping of fields to values, found null"),
        ({1: 2}, "expected strings as keys, found the integer 1"),
    ],
)
def test_what_is_no_mapping_is_refused(model: type[Entity], document: Any, message: str) -> None:
    """At the document's own path."""
    assert messages(model, document) == {"": message}


def test_an_unknown_field_is_refused_wherever_it_stands() -> None:
    """The message lists the known ones."""
    document = {
        **ENDPOINT,
        "colour": 1,
        "fault": {**FAULT, "procent": 3},
        "retry": {"retry_on": "5xx", "tries": 2},
    }
    assert messages(Endpoint, document) == {
        "retry.tries": "unknown field; known fields: retry_on, attempts, per_try_timeout",
        "fault.procent": "unknown field; known fields: profile, percent, expires_at, nodes, enabled, headers",
        "colour": "unknown field; known fields: name, match, upstream, timeout, retry, fault",
    }


def test_every_error_of_a_profile_is_reported_at_once() -> None:
    """Those of the specification have their place below `spec`."""
    response = {"status": "200", "resolution": 1, "distribution": {"p101": "1s"}}
    found = messages(Profile, {"name": "A", "description": 1, "spec": {"responses": [response]}, "x": 1})
    assert set(found) == {
        "name",
        "description",
        "spec.responses[0].status",
        "spec.responses[0].distribution.p101",
        "x",
    }
    assert found["description"] == "expected a string, found the integer 1"


@pytest.mark.parametrize("name", ["a", "a-b", "0", "a" * 63])
def test_a_name_is_a_dns_label(name: str) -> None:
    """Lower case, as DNS compares without it."""
    assert Profile.load({"name": name, "spec": SPEC}).name == name


@pytest.mark.parametrize("name", ["", "A", "a.b", "-a", "a-", "a_b", "a" * 64, "ä", "a\n", 7, None])
def test_anything_else_is_no_name(name: Any) -> None:
    """The message says what one is."""
    assert list(messages(Profile, {"name": name, "spec": SPEC})) == ["name"]


def test_text_that_no_database_and_no_wire_can_carry_is_refused() -> None:
    """U+0000, and halves of surrogate pairs."""
    assert messages(Profile, {**PROFILE, "description": "a\0"}) == {
        "description": "expected text without U+0000"
    }
    assert messages(Profile, {**PROFILE, "description": "\ud800"}) == {
        "description": 'expected text that UTF-8 can express, found the string "\\ud800"'
    }


class TestUpstream:
    """The real backend."""

    def load(self, **fields: Any) -> Upstream:
        return Upstream.load({**UPSTREAM, **fields})

    def messages(self, **fields: Any) -> dict[str, str]:
        return messages(Upstream, {**UPSTREAM, **fields})

    def test_addresses_become_eds_and_names_strict_dns(self) -> None:
        """By the first host: all are of one kind."""
        assert self.load(hosts=[{"address": "::1", "port": 1}]).discovery == "eds"
        assert self.load(hosts=[{"address": "pay.internal", "port": 1}]).discovery == "strict_dns"

    def test_addresses_and_names_do_not_mix(self) -> None:
        """Envoy has no such cluster."""
        found = self.messages(
            hosts=[{"address": "pay.internal", "port": 1}, {"address": "10.0.0.7", "port": 1}]
        )
        assert found == {
            "hosts[1].address": "expected a host name, as hosts[0] is: "
            "addresses and names cannot be mixed in one upstream"
        }

    def test_hosts_are_there_and_differ(self) -> None:
        """By address and port together."""
        host = {"address": "10.0.0.7", "port": 8080}
        assert self.messages(hosts=[]) == {"hosts": "expected at least one in the list"}
        assert self.messages(hosts=[host, {**host, "port": 1}, host]) == {
            "hosts[2]": "repeats the address and port of item 0"
        }

    @pytest.mark.parametrize(
        "address", ["", "10.0.0", "10.0.0.256", "[::1]", "pay internal", "-x", "a..b", "*.b", "1.2.3.4:5"]
    )
    def test_an_address_is_one(self, address: str) -> None:
        """IPv6 without brackets, no port, no wildcard."""
        assert list(self.messages(hosts=[{"address": address, "port": 1}])) == ["hosts[0].address"]

    def test_numbers_are_neither_strings_nor_out_of_range(self) -> None:
        """All at once."""
        hosts = [{"address": "10.0.0.7", "port": 0}, {"address": "10.0.0.8", "port": "80"}]
        found = self.messages(
            hosts=hosts, circuit_breakers={"max_retries": -1}, connect_timeout=1, protocol="h2"
        )
        assert found == {
            "hosts[0].port": "expected at least 1, found the integer 0",
            "hosts[1].port": 'expected an integer, found the string "80"',
            "protocol": "expected 'http1' or 'http2', found the string \"h2\"",
            "connect_timeout": 'expected a duration as a string, like "250ms" or "15s", found the integer 1',
            "circuit_breakers.max_retries": "expected at least 0, found the integer -1",
        }
        assert list(self.messages(connect_timeout="0s")) == ["connect_timeout"]

    def test_tls_material_is_pem_or_a_path_and_keys_stay_on_the_host(self, tmp_path: Path) -> None:
        """What belongs together is given together."""
        pem = Authority(tmp_path).certificate.read_text()
        tls = self.load(tls={"sni": "pay", "ca": pem, "certificate": "/c.pem", "private_key": "/k.pem"}).tls
        assert tls is not None
        assert (tls.ca, tls.private_key) == (pem, "/k.pem")
        key = "-----BEGIN PRIVATE KEY-----\n"
        assert set(self.messages(tls={"ca": "ca.pem", "private_key": key})) == {"tls.ca", "tls.private_key"}
        assert set(self.messages(tls={"certificate": "/c.pem"})) == {"tls.private_key"}
        assert set(self.messages(tls={"private_key": "/k.pem"})) == {"tls.certificate"}
        assert set(self.messages(tls={"subject_alt_names": ["pay"]})) == {"tls.ca"}

    @pytest.mark.parametrize("body", ["MII=", "", "é", "AAAA"])
    def test_pem_that_cannot_be_read_is_refused(self, body: str) -> None:
        """Envoy would refuse the whole cluster."""
        pem = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
        message = "expected certificates in PEM, found what cannot be read as such"
        assert self.messages(tls={"ca": pem}) == {"tls.ca": message}

    def test_durations_are_such_as_envoy_takes(self) -> None:
        """One that is too long would fail the update of all clusters."""
        longest = "2562047h47m15s"
        assert self.load(connect_timeout=longest).connect_timeout == LONGEST
        assert self.messages(connect_timeout="2562047h47m15.1s") == {
            "connect_timeout": f'expected a duration of at most {longest}, found "2562047h47m15.1s"'
        }
        assert set(messages(Endpoint, {**ENDPOINT, "timeout": "2562047h47m16s"})) == {"timeout"}

    @pytest.mark.parametrize(
        ("one", "other"),
        [("::1", "0:0:0:0:0:0:0:1"), ("fe80::A", "fe80::a"), ("api.example", "API.example")],
    )
    def test_hosts_differ_however_they_are_written(self, one: str, other: str) -> None:
        """Two ways of writing an address are one address."""
        hosts = [{"address": each, "port": 80} for each in (one, other)]
        assert self.messages(hosts=hosts) == {"hosts[1]": "repeats the address and port of item 0"}


class TestFleet:
    """The Envoys that share a configuration."""

    def test_listeners_belong_to_gateways(self) -> None:
        """They need one; other modes have none."""
        assert list(messages(Fleet, {"name": "edge"})) == ["listeners"]
        assert list(messages(Fleet, {**FLEET, "mode": "routes"})) == ["listeners"]
        assert list(messages(Fleet, {**FLEET, "mode": "filter"})) == ["listeners"]
        assert Fleet.load({"name": "edge", "mode": "filter"}).listeners == ()

    def test_listeners_differ_in_name_and_in_place(self) -> None:
        """Two listeners cannot bind one address and port."""
        http = FLEET["listeners"][0]
        found = messages(Fleet, {**FLEET, "listeners": [http, {**http, "port": 1}]})
        assert found == {"listeners[1]": "repeats the name of item 0"}
        found = messages(Fleet, {**FLEET, "listeners": [http, {**http, "name": "other"}]})
        assert found == {"listeners[1]": "repeats the address and port of item 0"}

    def test_a_listener_binds_an_ip_address(self) -> None:
        """A name is none."""
        http = FLEET["listeners"][0]
        found = messages(Fleet, {**FLEET, "listeners": [{**http, "address": "localhost", "port": 65536}]})
        assert set(found) == {"listeners[0].address", "listeners[0].port"}
        found = messages(Fleet, {**FLEET, "listeners": [{**http, "address": "::ffff:10.0.0.7"}]})
        message = 'expected "10.0.0.7": Envoy cannot listen on "::ffff:10.0.0.7"'
        assert found == {"listeners[0].address": message}

    def test_an_address_is_the_same_however_it_is_written(self) -> None:
        """Envoy would refuse the second listener."""
        http = FLEET["listeners"][0]
        listeners = [{**http, "address": "::1"}, {**http, "name": "b", "address": "0:0:0:0:0:0:0:1"}]
        found = messages(Fleet, {**FLEET, "listeners": listeners})
        assert found == {"listeners[1]": "repeats the address and port of item 0"}


class TestEndpoint:
    """A match, an upstream, a fault."""

    def match(self, **fields: Any) -> dict[str, str]:
        return messages(Endpoint, {**ENDPOINT, "match": fields})

    def test_the_path_is_a_prefix_or_exact(self) -> None:
        """Without query: it is not compared."""
        assert list(self.match(prefix="/a", exact="/a")) == ["match.exact"]
        for path in ("", "pay", "/pay?x=1", "/pay#x", "/a b", "/ä"):
            assert list(self.match(prefix=path)) == ["match.prefix"]
            assert list(self.match(exact=path)) == ["match.exact"]

    def test_methods_are_in_capitals_and_differ(self) -> None:
        """As on the wire, where they compare with case."""
        assert Endpoint.load({**ENDPOINT, "match": {"methods": ["GET", "M-SEARCH"]}}).match.methods == (
            "GET",
            "M-SEARCH",
        )
        assert list(self.match(methods=["get"])) == ["match.methods[0]"]
        assert list(self.match(methods=["GET", "GET"])) == ["match.methods[1]"]

    def test_headers_are_those_of_the_profile_language(self) -> None:
        """One condition each; names compare without case."""
        document = {**ENDPOINT, "match": {"headers": [{"name": "X-User", "exact_match": "a"}]}}
        endpoint = Endpoint.load(document)
        assert endpoint.document()["match"]["headers"] == [{"name": "x-user", "exact_match": "a"}]
        assert Endpoint.load(endpoint.document()) == endpoint
        assert list(self.match(headers=[{"name": "a"}, {"name": "", "present_match": True}])) == [
            "match.headers[0]",
            "match.headers[1].name",
        ]

    def test_hosts_differ_without_case(self) -> None:
        """There is at least one."""
        assert list(self.match(hosts=["a.example.com", "A.example.com"])) == ["match.hosts[1]"]
        assert list(self.match(hosts=[])) == ["match.hosts"]

    def test_retries_are_on_conditions_of_envoy(self) -> None:
        """A misspelt one would silently never apply."""
        endpoint = Endpoint.load({**ENDPOINT, "retry": {"retry_on": "5xx, reset"}})
        assert endpoint.retry is not None
        assert (endpoint.retry.retry_on, endpoint.retry.attempts) == ("5xx,reset", 1)
        found = messages(Endpoint, {**ENDPOINT, "retry": {"retry_on": "5xx,500", "attempts": 0}})
        assert set(found) == {"retry.retry_on", "retry.attempts"}
        assert found["retry.retry_on"].startswith("'500' is none of Envoy's conditions 5xx, ")

    def test_times_of_a_fault_have_an_offset_and_are_shown_in_utc(self) -> None:
        """RFC 3339."""
        endpoint = Endpoint.load(
            {
                **ENDPOINT,
                "fault": {"profile": "p", "percent": 12.5, "expires_at": "2030-01-31T20:00:00+02:00"},
            }
        )
        fault = endpoint.document()["fault"]
        assert (fault["expires_at"], fault["percent"]) == ("2030-01-31T18:00:00Z", 12.5)
        assert list(
            messages(Endpoint, {**ENDPOINT, "fault": {**FAULT, "expires_at": "2030-01-31T20:00:00"}})
        ) == ["fault.expires_at"]

    @pytest.mark.parametrize("percent", [-1, 100.5, "20", True, float("nan"), float("inf")])
    def test_percent_is_a_share(self, percent: Any) -> None:
        """0 to 100, a number."""
        assert list(messages(Endpoint, {**ENDPOINT, "fault": {**FAULT, "percent": percent}})) == [
            "fault.percent"
        ]


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def mutated(document: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The document with one or two of its fields replaced by anything."""
    names = st.sampled_from(list(document))
    return st.dictionaries(names, json, min_size=1, max_size=2).map(lambda changes: {**document, **changes})


@given(
    st.one_of(
        st.tuples(st.just(Profile), mutated(PROFILE)),
        st.tuples(st.just(Upstream), mutated(UPSTREAM)),
        st.tuples(st.just(Fleet), mutated(FLEET)),
        st.tuples(st.just(Endpoint), mutated(ENDPOINT)),
        st.tuples(st.just(Endpoint), mutated(FAULT).map(lambda fault: {**ENDPOINT, "fault": fault})),
    )
)
def test_any_document_is_read_or_refused_with_paths(case: tuple[type[Entity], dict[str, Any]]) -> None:
    """Never another error; what is read comes back from its document."""
    model, document = case
    try:
        entity = model.load(document)
    except ValidationFailed:
        return
    assert model.load(entity.document()) == entity
