"""`filter_runtime.simulate`: what a profile would inject, without Envoy."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import filter_runtime
from brownout.profile import ValidationFailed, load_profile
from filter_runtime import simulate

PROFILE: dict[str, Any] = {
    "responses": [
        {"status": 200, "resolution": 900, "distribution": {"p50": "20ms", "p99": "80ms"}},
        {"status": 503, "resolution": 100, "distribution": {"p0": "5ms", "p100": "5ms"}},
    ]
}
YAML = """
responses:
  - {status: 200, resolution: 900, distribution: {p50: 20ms, p99: 80ms}}
  - {status: 503, resolution: 100, distribution: {p0: 5ms, p100: 5ms}}
"""
FLAT = {"responses": [{"status": 200, "resolution": 1, "distribution": {"p0": "1ms", "p100": "1ms"}}]}
WHOLE = "whole numbers of 64 bits"
UNDER_LOAD = {
    "load_based": {
        "healthy": FLAT | {"threshold_in_flight": 10},
        "tipping_point": FLAT | {"threshold_in_flight": 20},
        "grey_zone": {
            "penalty_base": "10ms",
            "spike_threshold": 0.5,
            "spike_penalty_duration": "1s",
            "spike_penalty_multiplier": 5,
            "recovery_rate": 1.0,
        },
    }
}


@pytest.mark.parametrize(
    "profile",
    [PROFILE, YAML, YAML.encode(), load_profile(PROFILE)],
    ids=["mapping", "str", "bytes", "behavior"],
)
def test_it_takes_a_profile_in_any_form(profile: Any) -> None:
    """All of them mean the same."""
    statuses, latencies = simulate(profile, 1_000, seed=7)
    expected = simulate(PROFILE, 1_000, seed=7)
    assert np.array_equal(statuses, expected[0])
    assert np.array_equal(latencies, expected[1])


def test_it_returns_statuses_and_seconds() -> None:
    """Arrays of the same length; the latencies are seconds."""
    statuses, latencies = simulate(PROFILE, 10_000)
    assert statuses.dtype == np.int32
    assert latencies.dtype == np.float64
    assert statuses.shape == latencies.shape == (10_000,)
    assert set(statuses.tolist()) == {200, 503}
    assert set(latencies[statuses == 503].tolist()) == {0.005}
    assert np.median(latencies[statuses == 200]) == pytest.approx(0.020, rel=0.1)


def test_the_seed_argument_makes_draws_reproducible() -> None:
    """It stands in for the profile's own; without either, two simulations differ."""
    assert np.array_equal(simulate(PROFILE, 500, seed=1)[1], simulate(PROFILE | {"seed": 9}, 500, seed=1)[1])
    assert np.array_equal(simulate(PROFILE | {"seed": 9}, 500)[1], simulate(PROFILE, 500, seed=9)[1])
    assert not np.array_equal(simulate(PROFILE, 500)[1], simulate(PROFILE, 500)[1])


def test_threads_share_the_draws() -> None:
    """Seven threads serve one cycle once."""
    profile = {
        "responses": [{"status": 200, "resolution": 5_000, "distribution": {"p0": "0s", "p100": "5s"}}]
    }
    _, latencies = simulate(profile, 5_000, threads=7)
    assert np.allclose(np.sort(latencies), (np.arange(5_000) + 0.5) / 1_000)


def test_the_load_is_one_number_or_one_for_each_draw() -> None:
    """Position 0.2 of the grey zone costs a fifth of the base penalty, the healthy tier nothing."""
    assert set(simulate(UNDER_LOAD, 100, 12)[1].tolist()) == {0.003}
    assert simulate(UNDER_LOAD, 3, [5, 12, 14])[1].tolist() == [0.001, 0.003, 0.005]
    assert simulate(UNDER_LOAD, 2, np.array([5, 12], np.uint8), threads=2)[1].tolist() == [0.001, 0.003]


def test_the_interval_is_the_clock() -> None:
    """A quarter of a second after the drop a quarter of the spike's penalty has gone."""
    _, latencies = simulate(UNDER_LOAD, 6, [16, 12, 12, 12, 12, 12], interval=0.25)
    assert latencies.tolist() == pytest.approx([0.031, 0.011, 0.0085, 0.006, 0.0035, 0.003])


def test_nothing_drawn_is_nothing() -> None:
    """No draw, no error."""
    assert [len(array) for array in simulate(PROFILE, 0)] == [0, 0]


def test_an_invalid_profile_is_named() -> None:
    """Every faulty path, as everywhere."""
    with pytest.raises(ValidationFailed, match=r"responses\[0\]\.status: "):
        simulate({"responses": [PROFILE["responses"][0] | {"status": 99}]}, 10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": -1}, ValueError, "n: expected no fewer than 0 draws, found -1"),
        ({"n": "3"}, TypeError, "n: expected a whole number, found '3' (str)"),
        ({"n": 1.5}, TypeError, "n: expected a whole number, found 1.5 (float)"),
        ({"n": None}, TypeError, "n: expected a whole number, found None (NoneType)"),
        ({"n": True}, TypeError, "n: expected a whole number, found True (bool)"),
        ({"threads": 0}, ValueError, "threads: expected 1 or more, found 0"),
        ({"threads": 1.5}, TypeError, "threads: expected a whole number, found 1.5 (float)"),
        ({"threads": "2"}, TypeError, "threads: expected a whole number, found '2' (str)"),
        ({"threads": True}, TypeError, "threads: expected a whole number, found True (bool)"),
        ({"interval": -1.0}, ValueError, "interval: expected 0 to 3.1536e+08 s, found -1"),
        ({"interval": float("nan")}, ValueError, "interval: expected 0 to 3.1536e+08 s, found nan"),
        ({"interval": 1e9}, ValueError, "interval: expected 0 to 3.1536e+08 s, found 1e+09"),
        ({"interval": 10**400}, ValueError, "interval: expected 0 to 3.1536e+08 s, found inf"),
        ({"interval": "1s"}, TypeError, "interval: expected a number of seconds, found '1s' (str)"),
        ({"interval": None}, TypeError, "interval: expected a number of seconds, found None (NoneType)"),
        ({"interval": True}, TypeError, "interval: expected a number of seconds, found True (bool)"),
        (
            {"in_flight": [1, 2, 3]},
            ValueError,
            "in_flight: expected one number, or 10 of them, found shape (3,)",
        ),
        (
            {"in_flight": [[1] * 10]},
            ValueError,
            "in_flight: expected one number, or 10 of them, found shape (1, 10)",
        ),
        ({"in_flight": -5}, ValueError, "in_flight: expected no fewer than 0, found -5"),
        ({"in_flight": 1.5}, TypeError, f"in_flight: expected {WHOLE}, found 1.5 (float)"),
        ({"in_flight": True}, TypeError, f"in_flight: expected {WHOLE}, found True (bool)"),
        ({"in_flight": "7"}, TypeError, f"in_flight: expected {WHOLE}, found '7' (str)"),
        ({"in_flight": None}, TypeError, f"in_flight: expected {WHOLE}, found None (NoneType)"),
        ({"in_flight": 2**64}, TypeError, f"in_flight: expected {WHOLE}, found {2**64} (int)"),
        ({"in_flight": [[1], [1, 2]]}, TypeError, f"in_flight: expected {WHOLE}, found [[1], [1, 2]] (list)"),
        ({"in_flight": np.ones(10)}, TypeError, "1.]) (an array of float64)"),
        ({"seed": 2**63}, ValueError, f"seed: expected one of 64 bits, from -2^63 to 2^63-1, found {2**63}"),
        ({"seed": -(2**63) - 1}, ValueError, "seed: expected one of 64 bits"),
        ({"seed": "1"}, TypeError, "seed: expected a whole number, found '1' (str)"),
        ({"seed": 1.5}, TypeError, "seed: expected a whole number, found 1.5 (float)"),
        ({"seed": True}, TypeError, "seed: expected a whole number, found True (bool)"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    """The message says which it is, what was expected and what was found."""
    with pytest.raises(error, match=re.escape(message)):
        simulate(PROFILE, **({"n": 10} | arguments))


def test_numbers_of_every_kind_are_taken() -> None:
    """Numpy's whole numbers and other real ones mean what Python's do."""
    expected = simulate(UNDER_LOAD, 3, [16, 12, 12], seed=5, threads=1, interval=0.25)[1]
    found = simulate(
        UNDER_LOAD,
        np.int32(3),  # type: ignore[arg-type]
        np.array([16, 12, 12], np.int8),
        seed=np.int64(5),  # type: ignore[arg-type]
        threads=np.uint8(1),  # type: ignore[arg-type]
        interval=Fraction(1, 4),  # type: ignore[arg-type]
    )[1]
    assert found.tolist() == expected.tolist()


def test_the_package_says_what_it_lacks() -> None:
    """Loading the simulation on demand hides no misspelling."""
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        getattr(filter_runtime, "simulat")  # noqa: B009 - mypy knows that there is none
