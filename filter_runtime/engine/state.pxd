# cython: cdivision=True
# What a behaviour remembers at one endpoint: its place in each cycle, its spike, its number of draws.
#
# One per (endpoint, behaviour) in the process, made and found by `state_get` (registry.pxi) under the GIL;
# used and released without it, on any thread. Each word that workers contend for lies on its own lines.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from filter_runtime.engine.atomic cimport CACHE_LINES, fetch_add, references_add, references_drop, store_signed
from filter_runtime.engine.behavior cimport behavior_t
from filter_runtime.engine.cycle cimport lane_t, place_t
from filter_runtime.engine.load cimport SPIKE_NONE
from filter_runtime.engine.rng cimport next_word, rng_key, rng_seed, rng_t

# The requests that one endpoint has in flight, whatever behaviour they started with.
cdef struct endpoint_t:
    int64_t references  # atomic
    char _apart[120]
    uint64_t in_flight  # atomic
    char _end[120]

cdef struct state_t:
    int64_t references  # atomic
    int64_t idle_since  # atomic; monotonic ns of the last release
    char _apart_1[112]
    uint64_t draws  # atomic; the number of the next seeded draw
    char _apart_2[120]
    int64_t spike  # atomic; see load.pxd
    endpoint_t* endpoint
    place_t* places  # one for each of the behaviour's entries; they and their lanes follow this structure
    char _apart_3[104]

cdef inline void endpoint_release(endpoint_t* endpoint) noexcept nogil:
    if references_drop(&endpoint.references):
        free(endpoint)

cdef inline void state_retain(state_t* state) noexcept nogil:
    references_add(&state.references)

cdef inline int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec

cdef inline void state_release(state_t* state) noexcept nogil:
    cdef endpoint_t* endpoint = state.endpoint
    store_signed(&state.idle_since, monotonic_ns())
    if references_drop(&state.references):
        free(state)
        endpoint_release(endpoint)

cdef inline size_t state_size(const behavior_t* behavior) noexcept nogil:
    """Return how many bytes a state takes, a multiple of CACHE_LINES."""
    cdef size_t size = sizeof(state_t) + behavior.entry_count * sizeof(place_t)
    cdef uint32_t i
    for i in range(behavior.entry_count):
        size += sizeof(lane_t) << behavior.entries[i].order.lane_bits
    return (size + CACHE_LINES - 1) // CACHE_LINES * CACHE_LINES

cdef inline void state_init(state_t* state, const behavior_t* behavior, endpoint_t* endpoint) noexcept nogil:
    """Begin at the first cycle, without a spike, with one reference; `endpoint`'s reference is taken over.

    What order the cycles have is left to the kernel's entropy, or given by the seed alone: all states of one
    seeded behaviour serve the same.
    """
    cdef lane_t* lanes
    cdef rng_t rng
    cdef uint32_t i
    memset(state, 0, state_size(behavior))
    state.references = 1
    state.spike = SPIKE_NONE
    state.endpoint = endpoint
    state.places = <place_t*>(state + 1)
    lanes = <lane_t*>(state.places + behavior.entry_count)
    if behavior.seeded:
        rng_key(&rng, behavior.seed, <uint64_t>-1)
    else:
        rng_seed(&rng)
    for i in range(behavior.entry_count):
        state.places[i].secret[0] = next_word(&rng)
        state.places[i].secret[1] = next_word(&rng)
        state.places[i].lanes = lanes
        lanes += <size_t>1 << behavior.entries[i].order.lane_bits

cdef inline uint64_t in_flight_enter(uint64_t* counter) noexcept nogil:
    """Count one request in and return how many were in flight before it."""
    return fetch_add(counter, 1)

cdef inline void in_flight_leave(uint64_t* counter) noexcept nogil:
    fetch_add(counter, <uint64_t>-1)
