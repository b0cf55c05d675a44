# One request at one filter: the stream's only allocation, its timer included.
#
# Envoy owns a reference from filter_new to filter_destroy; the timer owns one while it knows the stream.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from filter_runtime.engine.abi cimport buffer_t
from filter_runtime.engine.atomic cimport references_drop
from filter_runtime.engine.draw cimport draw_t
from filter_runtime.engine.metrics cimport filter_config_t
from filter_runtime.engine.rule cimport config_t, rule_t

# Where the filter stands: each stream finds out by itself.
cdef enum:
    IN_MANAGER  # in the connection manager's chain, before the router
    IN_CLUSTER  # in the cluster's chain: one stream for each attempt

# How far the request has come.
cdef enum:
    PASSING  # not ours: nothing matched, it does not take part, or it is over
    WAITING  # for the response's headers
    LAPSED  # for the response's headers, to count them: the fault had expired
    HOLDING  # the response, until the timer
    PAUSED  # the response, although its time has come: until the client's connection takes more
    ENDING  # the response, although its time has come: until its end has come, or a moment has passed
    LANDING  # a response that the cluster's filter let go, until its end has come
    REWRITING  # the response's body

# What the client is to get.
cdef enum:
    AS_IT_IS  # the response as the upstream sent it
    DESCRIBED  # the same with x-fault-* headers
    REPLACED  # by a reply with the drawn status
    REWRITTEN  # the upstream's response, turned into the drawn one: the router takes it for the upstream's

# How a response that was held goes on its way.
cdef enum:
    GO  # as from any filter
    LAND  # so that the connection manager's filter keeps it until all of it has come
    RELAY  # as a reply of Envoy's own, headers and body unchanged
    RESET  # not at all: the attempt ends as if the upstream had refused it
    AWAIT_CLIENT  # not yet: the client's connection is paused
    AWAIT_RIVALS  # not yet: other attempts are under way

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

# See requests.pxd.
cdef struct link_t:
    int64_t request  # atomic; 0 once the stream has ended on another thread
    void* home  # the lists of the thread that it is listed in, NULL when it is not
    stream_t* next
    stream_t** to_this  # what points to the stream

# What the connection manager's filter knows for the attempts.
cdef struct assist_t:
    bint active  # an attempt decides
    config_t* config  # a reference: what the connection manager's filter looked at
    rule_t* rule  # what that says of the request
    bint landing  # an attempt lets its response go right now
    bint rewritten_grpc  # an attempt has written a status into a call's headers
    int pauses  # of the client's connection that have not ended
    uint64_t mark  # of the response that is handed over, 0 when none is
    int64_t due  # when it may go on, CLOCK_MONOTONIC

cdef struct stream_t:
    int64_t references  # atomic
    timer_t timer
    link_t link
    assist_t assist
    void* envoy
    const filter_config_t* filter
    config_t* config  # a reference, NULL while nothing matched
    rule_t* rule
    int place
    int phase
    int effect
    bint internal  # a call of Envoy's own, for which no client waits
    bint request_ended
    bint counted  # in flight
    bint held  # counted as such
    bint awaits_rivals
    uint64_t attempt  # its number: another one for each attempt at the request
    draw_t draw
    uint64_t in_flight  # of the process, observed at entry
    uint32_t worker
    int64_t started  # CLOCK_MONOTONIC, at the request's headers
    int64_t elapsed  # ns that the upstream took
    int64_t added  # ns of delay, 0 when there is none
    int upstream_status
    uint64_t released_by  # the event that lets it go as it is
    bint upstream_fields  # its headers have x-fault-* fields
    bint response_ended  # its headers were all of it
    bint complete  # nothing of it is still to come
    bint has_trailers  # they came while it was held
    bint oversized  # with trailers, and more than the buffers' limits
    bint cut  # some of its body is lost: it cannot pass as it was any more
    bint local  # it is a reply of Envoy's own
    buffer_t new_body  # of the REWRITING phase, until it has been sent
    bint new_trailers  # gRPC's, in the REWRITING phase

cdef inline stream_t* stream_new(void* envoy, const filter_config_t* filter) noexcept nogil:
    """Return a passing stream with Envoy's reference, or NULL when there is no memory."""
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
