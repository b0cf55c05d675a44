# cython: cdivision=True
# One draw: the status and the target latency of a request. No lock, no allocation, no GIL.

from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t

from filter_runtime.engine.atomic cimport fetch_add
from filter_runtime.engine.behavior cimport behavior_t, entry_t
from filter_runtime.engine.cycle cimport next_quantile
from filter_runtime.engine.load cimport load_t, observe, position_of
from filter_runtime.engine.quantiles cimport latency_at, to_nanoseconds
from filter_runtime.engine.rng cimport below, rng_key, rng_t, unit
from filter_runtime.engine.state cimport state_t
from filter_runtime.engine.weights cimport pick, tier_t

cdef struct draw_t:
    int status
    int entry  # index into behavior.entries: the local response
    int64_t target_ns

cdef inline void draw(
    const behavior_t* behavior, state_t* state, uint64_t in_flight, int64_t now_ns, rng_t* rng, draw_t* out
) noexcept nogil:
    """Draw for one request.

    `in_flight` is what was observed at the request's entry: the process's number or, with
    `behavior.load.per_endpoint`, that of `state.endpoint`. `now_ns` is CLOCK_MONOTONIC; only the grey zone
    looks at it. A seeded behaviour draws from its own numbers and leaves `rng` alone.
    """
    cdef const tier_t* tier = &behavior.healthy
    cdef double penalty = 0.0
    cdef rng_t own
    if behavior.seeded:
        rng_key(&own, behavior.seed, fetch_add(&state.draws, 1))
        rng = &own
    if behavior.load.active:
        tier = tier_for(behavior, state, in_flight, now_ns, rng, &penalty)
    _draw_from(behavior, state, tier, penalty, rng, out)

cdef inline const tier_t* tier_for(
    const behavior_t* behavior, state_t* state, uint64_t in_flight, int64_t now_ns, rng_t* rng, double* penalty
) noexcept nogil:
    """Follow the load and return the tier that serves; the grey zone mixes both, and adds its penalty."""
    cdef const load_t* load = &behavior.load
    cdef int64_t seen = <int64_t>in_flight if in_flight <= <uint64_t>INT64_MAX else INT64_MAX
    cdef double position = position_of(load, seen)
    cdef double factor = 1.0
    if load.grey:
        factor = observe(load, &state.spike, position, now_ns)
    if seen <= load.healthy:
        return &behavior.healthy
    if seen >= load.tipping:
        return &behavior.tipping
    penalty[0] = load.penalty_base * position * factor
    if below(rng, <uint64_t>(load.tipping - load.healthy)) < <uint64_t>(seen - load.healthy):
        return &behavior.tipping
    return &behavior.healthy

cdef inline void _draw_from(
    const behavior_t* behavior, state_t* state, const tier_t* tier, double penalty, rng_t* rng, draw_t* out
) noexcept nogil:
    cdef uint32_t index = pick(tier, rng)
    cdef const entry_t* entry = behavior.entries + index
    cdef double quantile, latency
    if behavior.stateful:
        quantile = next_quantile(&entry.order, &state.places[index], rng)
    else:
        quantile = unit(rng)
    out.entry = <int>index
    out.status = entry.status
    latency = latency_at(&entry.curve, quantile)
    if behavior.load.active:
        latency += penalty
    out.target_ns = to_nanoseconds(latency)
