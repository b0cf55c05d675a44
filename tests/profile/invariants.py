"""What holds for every accepted document, said a second time and independently of the reader."""

import math

from brownout.profile import Behavior, Binding, Distribution, FilterConfig, LocalResponse, Match, Response

_FORBIDDEN = {
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
}  # fmt: skip
_LONGEST = 2**63 - 1


def check_filter(config: FilterConfig) -> None:
    assert config.endpoints is None or config.direct is None
    assert type(config.halted) is bool
    for entry in (*(config.endpoints or ()), *([config.direct] if config.direct else ())):
        check_behavior(entry.behavior)
        check_binding(entry.binding)
    for entry in config.endpoints or ():
        check_match(entry.match)


def check_behavior(behavior: Behavior) -> None:
    assert (behavior.responses is None) is not (behavior.load_based is None)
    assert behavior.probability_distribution in {"stateful", "stateless"}
    assert behavior.override in {"local_response", "upstream_response"}
    assert type(behavior.diagnostic) is bool
    assert behavior.seed is None or -(2**63) <= behavior.seed < 2**63
    lists = [behavior.responses] if behavior.responses is not None else []
    if behavior.load_based is not None:
        healthy, tipping = behavior.load_based.healthy, behavior.load_based.tipping_point
        assert 0 < healthy.threshold_in_flight < tipping.threshold_in_flight <= 2**53
        assert behavior.load_based.scope in {"process", "endpoint"}
        lists += [healthy.responses, tipping.responses]
        grey = behavior.load_based.grey_zone
        if grey is not None:
            assert 0 <= grey.penalty_base <= _LONGEST
            assert 0 <= grey.spike_penalty_duration <= _LONGEST
            assert 0 < grey.spike_threshold < 1
            assert 0 < grey.spike_penalty_multiplier < math.inf
            assert 0 < grey.recovery_rate <= 1
    for responses in lists:
        assert 0 < len(responses) <= 1000
        assert sum(response.resolution for response in responses) < 2**63
        for response in responses:
            _check_response(response)


def _check_response(response: Response) -> None:
    assert type(response.status) is int
    assert 200 <= response.status <= 599
    assert type(response.resolution) is int
    assert 1 <= response.resolution <= 2**40
    _check_distribution(response.distribution)
    if response.local_response is not None:
        _check_local(response.local_response)
        if response.status in {204, 205, 304}:
            assert not response.local_response.body


def _check_distribution(distribution: Distribution) -> None:
    quantiles = [quantile for quantile, _ in distribution.points]
    durations = [duration for _, duration in distribution.points]
    assert quantiles
    assert quantiles == sorted(set(quantiles))
    assert 0 <= quantiles[0] <= quantiles[-1] <= 1
    assert durations == sorted(durations)
    assert 0 <= durations[0] <= durations[-1] <= _LONGEST


def _check_local(local: LocalResponse) -> None:
    assert local.body is None or "\0" not in local.body.encode().decode()
    names = [header.name for header in local.headers]
    assert names.count("content-type") <= 1
    for header in local.headers:
        assert header.name
        assert all(
            33 <= ord(character) < 127 and character not in '"(),/:;<=>?@[\\]{}' for character in header.name
        )
        assert header.name == header.name.lower()
        assert header.name not in _FORBIDDEN
        assert not header.name.startswith("x-fault-")
        _check_header_value(header.value)
        assert header.name != "content-type" or header.value.strip()


def _check_header_value(value: str) -> None:
    value.encode()
    assert not any(
        ord(character) < 32 or 127 <= ord(character) < 160 for character in value if character != "\t"
    )
    assert not value.startswith((" ", "\t"))
    assert not value.endswith((" ", "\t"))


def check_binding(binding: Binding) -> None:
    assert type(binding.percent) is float
    assert 0 <= binding.percent <= 100
    assert binding.expires_at is None or binding.expires_at.utcoffset() is not None
    assert type(binding.headers) is bool
    for name in (binding.label, binding.endpoint):
        if name is not None:
            assert 0 < len(name) <= 256
            _check_header_value(name)


def check_match(match: Match) -> None:
    assert match.prefix is None or match.prefix.startswith("/")
    assert match.exact is None or match.exact == "*" or match.exact.startswith("/")
    assert match.exact is None or "?" not in match.exact
    for header in match.headers:
        assert header.name
        assert header.name == header.name.lower()
        assert header.name != "host"
        assert (header.exact_match is None) is header.present_match
