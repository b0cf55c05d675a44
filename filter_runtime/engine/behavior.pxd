# A compiled behaviour: immutable, reference counted, shared by all equal behaviours, one allocation.
#
# Built from a `brownout.profile.Behavior` by `behavior_build` (behaviors.pxi) under the GIL; used and freed
# without it, on any thread. Lengths are bytes, durations nanoseconds.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free

from filter_runtime.engine.atomic cimport references_add, references_drop
from filter_runtime.engine.load cimport load_t
from filter_runtime.engine.permutation cimport order_t
from filter_runtime.engine.quantiles cimport curve_t
from filter_runtime.engine.weights cimport tier_t

cdef struct header_t:
    const char* name
    size_t name_length
    const char* value
    size_t value_length

# What a forced status answers. Statuses from 400 on without a body of their own carry the generated fault
# text ("fault filter abort: 503\n") and, unless the profile names another, `content-type: text/plain`.
cdef struct reply_t:
    const char* body
    size_t body_length
    const header_t* headers
    size_t header_count
    bint has_content_type  # one of `headers` is a content-type
    bint has_grpc_status  # one of `headers` is a grpc-status
    const header_t* grpc_message  # the one of `headers` that is a grpc-message, NULL when there is none

# One entry of `responses[]`.
cdef struct entry_t:
    int status
    int grpc_status  # the reply's own, else the standard mapping of `status` (503 -> 14); 0 for a success
    curve_t curve
    order_t order
    reply_t reply
    char _end[8]  # 128 bytes: an index is an address by one shift

cdef struct behavior_t:
    int64_t references  # atomic
    size_t size  # bytes of this allocation
    unsigned char identity[16]  # digest of what decides its draws: equal for behaviours that share a state
    bint stateful
    bint diagnostic
    bint override_upstream  # `override: upstream_response`
    bint seeded
    uint64_t seed
    load_t load
    tier_t healthy  # the only tier unless `load.active`
    tier_t tipping
    uint32_t entry_count  # of both tiers; the healthy tier's come first
    const entry_t* entries

cdef inline void behavior_retain(behavior_t* behavior) noexcept nogil:
    references_add(&behavior.references)

cdef inline void behavior_release(behavior_t* behavior) noexcept nogil:
    if references_drop(&behavior.references):
        free(behavior)

cdef inline int grpc_status(int status) noexcept nogil:
    """Return the gRPC code for an HTTP status (gRPC's http-grpc-status-mapping); a success is 0, OK."""
    if 200 <= status < 300:
        return 0
    if status == 400:
        return 13  # INTERNAL
    if status == 401:
        return 16  # UNAUTHENTICATED
    if status == 403:
        return 7  # PERMISSION_DENIED
    if status == 404:
        return 12  # UNIMPLEMENTED
    if status == 429 or 502 <= status <= 504:
        return 14  # UNAVAILABLE
    return 2  # UNKNOWN
