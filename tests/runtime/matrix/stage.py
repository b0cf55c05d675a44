"""The Envoy and the upstream of a group; its cases are played at the same time."""

import copy
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import Behaviour, EnvoyProcess, Request, Upstream, static_bootstrap
from tests.support.bootstrap import TYPE
from tests.support.certificates import Authority

from .cases import LIMITS, Case, Group, behaviour_of, routes
from .play import Stage, play

AT_ONCE = 12
_SHOWN = 8


class Certificate:
    """What the TLS listener has, and who trusts it."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        self.issued = authority.issue("server", "127.0.0.1")
        self.authority = authority.certificate

    def trust(self) -> ssl.SSLContext:
        """A client's context."""
        return ssl.create_default_context(cafile=str(self.authority))

    def socket(self) -> dict[str, Any]:
        """The listener's transport socket."""
        files = {
            "certificate_chain": {"filename": str(self.issued.certificate)},
            "private_key": {"filename": str(self.issued.key)},
        }
        context = {"alpn_protocols": ["h2", "http/1.1"], "tls_certificates": [files]}
        kind = f"{TYPE}envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
        return {"name": "tls", "typed_config": {"@type": kind, "common_tls_context": context}}


def bootstrap(group: Group, port: int, certificate: Certificate) -> dict[str, Any]:
    """Two listeners of the group's limit: `http` and, with TLS, `https`."""
    config = static_bootstrap(port, routes=routes(), position=group.position, http2=group.http2)
    (plain,) = config["static_resources"]["listeners"]
    if (limit := LIMITS[group.limit]) is not None:
        plain["per_connection_buffer_limit_bytes"] = limit
    secure = copy.deepcopy(plain) | {"name": "https"}
    secure["filter_chains"][0]["transport_socket"] = certificate.socket()
    config["static_resources"]["listeners"].append(secure)
    return config


@contextmanager
def upstream_of(group: Group) -> Iterator[Upstream]:
    """It does what the last part of a path says."""

    def rule(request: Request) -> Behaviour:
        grpc = request.header("content-type") == "application/grpc"
        return behaviour_of(group.size, request.path.rpartition("/")[2], grpc=grpc)

    with Upstream(default=rule) as upstream:
        yield upstream


def run(group: Group, cases: Sequence[Case], certificate: Certificate) -> list[str]:
    """Play cases on one Envoy, and return what is wrong: a line for each case that it can be repeated by."""
    try:
        with (
            upstream_of(group) as upstream,
            EnvoyProcess(bootstrap(group, upstream.port, certificate), version=group.version) as envoy,
        ):
            stage = Stage.of(upstream, envoy, certificate.trust())
            with ThreadPoolExecutor(AT_ONCE) as pool:
                failures = [
                    failure for failure in pool.map(lambda case: _failure(case, stage), cases) if failure
                ]
            if envoy.running:
                nothing_is_left(envoy, group)
    except AssertionError as error:
        return [*culprits(group, cases, certificate), f"{group}: {str(error)[:300]} {_notes(error)}"]
    return failures


def _failure(case: Case, stage: Stage) -> str | None:
    try:
        play(case, stage)
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes into the report
        return f"{case}: {type(error).__name__}: {str(error)[:400]}"
    return None


def _notes(error: BaseException) -> str:
    return " ".join(note.partition("\n")[0] for note in getattr(error, "__notes__", ()))


def nothing_is_left(envoy: EnvoyProcess, group: Group) -> None:
    """Neither requests nor errors."""
    envoy.wait_none(
        "cluster.upstream.upstream_rq_active", "http.http.downstream_rq_active", "http2.streams_active"
    )
    errors = {name: value for name, value in envoy.stats("brownout[.]errors").items() if value}
    assert not errors, f"{group}: {errors}"
    assert "envoy bug failure" not in envoy.log, f"{group}: an Envoy bug in the log"


def culprits(group: Group, cases: Sequence[Case], certificate: Certificate) -> list[str]:
    """Those that end Envoy, or leave something, alone; each on an Envoy of its own, until a few are found."""
    found: list[str] = []
    for case in cases:
        if len(found) == _SHOWN:
            break
        try:
            with (
                upstream_of(group) as upstream,
                EnvoyProcess(bootstrap(group, upstream.port, certificate), version=group.version) as envoy,
            ):
                failure = _failure(case, Stage.of(upstream, envoy, certificate.trust()))
                if envoy.running:
                    nothing_is_left(envoy, group)
        except AssertionError as error:
            found.append(f"{case}: alone: {str(error).partition(chr(10))[0]}")
        else:
            found += [failure] if failure else []
    return found
