"""Whose state a draw uses, what it survives, and that nothing piles up."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from brownout.profile import load_profile
from filter_runtime._engine import Sampler, registered
from tests.sampler.samples import draws, ladder, profile, response, samples

SAME = [
    {"diagnostic": True},
    {"override": "upstream_response"},
    {"responses": [response(200, 20), response(503, 5) | {"local_response": {"body": "sorry"}}]},
]
OTHER = [
    {"probability_distribution": "stateless"},
    {"seed": 1},
    {"responses": [response(200, 20), response(503, 6)]},
    {"responses": [response(200, 20), response(504, 5)]},
    {"responses": [response(200, 20), response(503, 5, p0="0s", p100="2s")]},
    {"responses": [response(503, 5), response(200, 20)]},
]


def behavior(**fields: Any) -> Any:
    return load_profile({"responses": [response(200, 20), response(503, 5)]} | fields)


def test_equal_behaviours_are_one_table() -> None:
    """However they were written; and one state at one endpoint."""
    text = "responses: [{status: 200, resolution: 20, distribution: {p100.0: 1000ms, p0: '0'}}]"
    one = Sampler(load_profile(text), "equal")
    assert one.shares(Sampler(profile(response(200, 20)), "equal")) == (True, True)


@pytest.mark.parametrize("fields", SAME, ids=str)
def test_what_does_not_change_draws_keeps_the_state(fields: dict[str, Any]) -> None:
    """Diagnostic, override and local responses are another table, but the same cycle and spike."""
    one = Sampler(behavior(), "keeps")
    assert one.shares(Sampler(behavior(**fields), "keeps")) == (False, True)


@pytest.mark.parametrize("fields", OTHER, ids=str)
def test_what_changes_draws_is_another_state(fields: dict[str, Any]) -> None:
    """Mode, seed, statuses, weights, distributions and their order are the behaviour."""
    one = Sampler(behavior(), "changes")
    assert one.shares(Sampler(behavior(**fields), "changes")) == (False, False)


def test_endpoints_share_the_table_and_not_the_state() -> None:
    """Each endpoint is in a cycle of its own."""
    one, other = Sampler(behavior(), "here"), Sampler(behavior(), "there")
    assert one.shares(other) == (True, False)


def test_samplers_without_an_endpoint_have_states_of_their_own() -> None:
    """A simulation begins at the first cycle."""
    assert Sampler(behavior()).shares(Sampler(behavior())) == (True, False)


def test_a_cycle_goes_on_after_the_last_reference_is_gone() -> None:
    """Halt and resume, or a fault removed and put back, find the cycle where it was."""
    served = []
    for part in (4, 0, 5, 1):
        served += samples(draws(Sampler(ladder(10), "goes on"), part)[1]).tolist()
    assert sorted(served) == list(range(10))


def test_a_spike_goes_on_after_the_last_reference_is_gone() -> None:
    """The recovery counts from the drop that an earlier configuration saw."""
    flat = {"responses": [response(200, p0="1ms", p100="1ms")]}
    grey = {
        "penalty_base": "10ms",
        "spike_threshold": 0.5,
        "spike_penalty_duration": "1s",
        "spike_penalty_multiplier": 5,
        "recovery_rate": 1.0,
    }
    under_load = load_profile(
        {
            "load_based": {
                "healthy": flat | {"threshold_in_flight": 10},
                "tipping_point": flat | {"threshold_in_flight": 20},
                "grey_zone": grey,
            }
        }
    )
    found = [
        int(draws(Sampler(under_load, "spike"), 1, in_flight, clock)[1][0])
        for in_flight, clock in ((16, 0), (12, 10**9), (12, 10**9 + 250_000_000))
    ]
    assert found == [31_000_000, 11_000_000, 8_500_000]


def test_unused_states_are_kept_up_to_a_number() -> None:
    """Five thousand pushes of ever another behaviour: the registry stays bounded."""
    for i in range(5_000):
        draws(Sampler(profile(response(200, 10 + i)), f"edited {i % 7}"), 3)
        assert max(registered()) <= 2_200


def test_states_in_use_are_never_dropped() -> None:
    """A held state is still the endpoint's after thousands of others came and went."""
    held = [Sampler(ladder(50), f"held {i}") for i in range(100)]
    served = [samples(draws(sampler, 20)[1]).tolist() for sampler in held]
    for i in range(3_000):
        Sampler(profile(response(200, 1_000 + i)), "passing by")
    for i, sampler in enumerate(held):
        again = Sampler(ladder(50), f"held {i}")
        assert again.shares(sampler) == (True, True)
        assert sorted(served[i] + samples(draws(again, 30)[1]).tolist()) == list(range(50))


def test_the_longest_unused_go_first() -> None:
    """Of two thousand states the latest five hundred are still there."""
    first = {}
    for i in range(2_000):
        first[i] = int(samples(draws(Sampler(ladder(1_000), f"old {i}"), 1)[1])[0])
    for i in range(1_500, 2_000):
        rest = samples(draws(Sampler(ladder(1_000), f"old {i}"), 999)[1]).tolist()
        assert first[i] not in rest


def test_references_may_be_dropped_on_any_thread() -> None:
    """Eight threads make, use and drop samplers of the same few endpoints."""

    def work(worker: int) -> int:
        total = 0
        for i in range(300):
            total += len(draws(Sampler(ladder(10 + i % 3), f"shared {i % 5}"), 10)[1])
        return total

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 8 * 300 * 10


def test_threads_that_build_equal_behaviours_share_them() -> None:
    """Eight threads at once make samplers of behaviours that nobody made before."""
    ready = Barrier(8)

    def work(_: int) -> list[Sampler]:
        ready.wait()
        return [Sampler(profile(response(200, 77_000 + i)), f"race {i}") for i in range(50)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(work, range(8))
    for other in others:
        assert [one.shares(same) for one, same in zip(first, other, strict=True)] == [(True, True)] * 50
