# One request at the filter: the stream's only allocation, its timer included.
#
# Envoy owns a reference from filter_new to filter_destroy; the timer owns one while it knows the stream.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from filter_runtime.engine.abi cimport buffer_t
from filter_runtime.engine.atomic cimport references_drop
from filter_runtime.engine.draw cimport draw_t
from filter_runtime.engine.metrics cimport filter_config_t
from filter_runtime.engine.rule cimport config_t, rule_t

# Where the request stands.
cdef enum:
    PASSING  # not ours: nothing matched, it does not take part, or it is over
    WAITING  # for the upstream's response headers
    HOLDING  # the response, until the timer
    LAPSED  # for the response headers, to count them: the fault had expired
    REWRITING  # its body: `override: upstream_response`

# Who may act on a held stream; transitions are atomic. See timers.pxi.
cdef enum:
    TIMER_IDLE
    TIMER_ARMED
    TIMER_FIRING
    TIMER_FIRED
    TIMER_CANCELLED

cdef enum:
    NOT_IN_HEAP = 0xFFFFFFFF

cdef struct timer_t:
    int64_t deadline  # CLOCK_MONOTONIC
    int64_t state  # atomic
    void* scheduler  # Envoy's way back to the stream's worker
    stream_t* next_armed
    stream_t* next_cancelled
    uint32_t heap_index
    bint expires  # the deadline is when the fault expires, before the delay has passed

cdef struct attempt_t:
    int64_t request  # atomic; 0 once the stream has ended on another thread
    void* home  # the lists of the thread that it is linked in, NULL when it is not
    stream_t* next
    stream_t** to_this  # what points to the stream

cdef struct stream_t:
    int64_t references  # atomic
    timer_t timer
    attempt_t attempt  # see attempts.pxd
    void* envoy
    const filter_config_t* filter
    config_t* config  # a reference, NULL while nothing matched
    rule_t* rule
    int phase
    bint request_ended
    bint counted  # in flight
    draw_t draw
    uint64_t in_flight  # of the process, observed at entry
    uint32_t worker
    int64_t started  # CLOCK_MONOTONIC, at the request's headers
    int64_t elapsed  # ns that the upstream took
    int64_t added  # ns of delay, 0 when there is none
    int upstream_status
    bint upstream_fields  # its headers have x-fault-* fields
    bint response_ended  # its headers were all of it
    bint complete  # nothing of it is still to come
    bint has_trailers  # they came while it was held
    bint cut  # some of its body is lost: it cannot pass as it was any more
    buffer_t new_body  # of a rewritten response, empty once it is sent
    bint new_trailers  # a rewritten response ends with trailers of its own

cdef inline stream_t* stream_new(void* envoy, const filter_config_t* filter) noexcept nogil:
    """Return a stream with one reference, or NULL without memory."""
    cdef stream_t* stream = <stream_t*>calloc(1, sizeof(stream_t))
    if stream != NULL:
        stream.references = 1
        stream.envoy = envoy
        stream.filter = filter
        stream.timer.heap_index = NOT_IN_HEAP
    return stream

cdef inline void stream_release(stream_t* stream) noexcept nogil:
    if references_drop(&stream.references):
        free(stream)
