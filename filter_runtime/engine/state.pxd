# What a behaviour remembers at one endpoint: its place in each cycle, its spike, its number of draws.
#
# One per (endpoint, behaviour) in the process, made and found by `state_get` (registry.pxi) under the GIL;
# used and released without it, on any thread. Each word that workers contend for lies on its own lines.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from filter_runtime.engine.atomic cimport fetch_add, references_add, references_drop, store_signed
from filter_runtime.engine.behavior cimport behavior_t
from filter_runtime.engine.load cimport SPIKE_NONE
from filter_runtime.engine.rng cimport next_word, rng_key, rng_seed, rng_t

# The requests that one endpoint has in flight, whatever behaviour they started with.
cdef struct endpoint_t:
    int64_t references  # atomic
    char _apart[120]
    uint64_t in_flight  # atomic
    char _end[120]

# One response entry's place: sample number `drawn` of all that this entry ever serves comes next.
cdef struct place_t:
    uint64_t drawn  # atomic
    uint64_t secret[2]
    char _end[104]

cdef struct state_t:
    int64_t references  # atomic
    int64_t idle_since  # atomic; monotonic ns of the last release
    char _apart_1[112]
    uint64_t draws  # atomic; the number of the next seeded draw
    char _apart_2[120]
    int64_t spike  # atomic; see load.pxd
    endpoint_t* endpoint
    uint32_t place_count
    char _apart_3[108]
    place_t places[1]  # place_count of them

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

cdef inline void state_init(state_t* state, const behavior_t* behavior, endpoint_t* endpoint) noexcept nogil:
    """Begin at the first cycle, without a spike, with one reference; `endpoint`'s reference is taken over.

    The order of the cycles is the kernel's entropy's choice, or the seed's alone: two states of one seeded
    behaviour serve the same.
    """
    cdef rng_t rng
    cdef uint32_t i
    memset(state, 0, sizeof(state_t) + behavior.entry_count * sizeof(place_t))
    state.references = 1
    state.spike = SPIKE_NONE
    state.endpoint = endpoint
    state.place_count = behavior.entry_count
    if behavior.seeded:
        rng_key(&rng, behavior.seed, <uint64_t>-1)
    else:
        rng_seed(&rng)
    for i in range(behavior.entry_count):
        state.places[i].secret[0] = next_word(&rng)
        state.places[i].secret[1] = next_word(&rng)

cdef inline uint64_t in_flight_enter(uint64_t* counter) noexcept nogil:
    """Count one request in and return how many were in flight before it."""
    return fetch_add(counter, 1)

cdef inline void in_flight_leave(uint64_t* counter) noexcept nogil:
    fetch_add(counter, <uint64_t>-1)
