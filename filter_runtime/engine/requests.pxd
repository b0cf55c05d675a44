# The streams of one request on its worker: the connection manager's filter, and the attempts in the cluster's.
#
# A request's number travels in Envoy's filter state, which the connection manager's filters and every attempt share:
# retries, hedged attempts and rewritten requests included; mirrored copies and Envoy's own calls have another. All of a
# request's streams run on one thread. They are found in a table of that thread by the number, so that nothing ever
# refers to a stream that is gone.
#
# The connection manager's filter is listed until it is destroyed, an attempt until the headers of its response go on.
# A stream that ends on another thread stays listed, with a reference, until its own thread comes by.

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from filter_runtime.engine.abi cimport buffer_t, get_filter_state, set_filter_state, text
from filter_runtime.engine.atomic cimport references_add
from filter_runtime.engine.stream cimport IN_CLUSTER, IN_MANAGER, stream_release, stream_t
from filter_runtime.engine.sync cimport read_word, write_word

cdef extern from *:
    """
    #define BROWNOUT_LISTS 256
    static __thread void *brownout_requests[BROWNOUT_LISTS];
    static __thread int64_t brownout_last_request;
    static inline void **brownout_own_requests(void) { return brownout_requests; }
    static inline int64_t brownout_next_request(void) { return ++brownout_last_request; }

    static __thread uint64_t brownout_chains;
    static __thread int brownout_chain_begins; /* the last that Envoy did was to create a filter */
    static inline uint64_t brownout_filter_created(void) {
        brownout_chains += !brownout_chain_begins;
        brownout_chain_begins = 1;
        return brownout_chains;
    }
    static inline void brownout_chain_created(void) { brownout_chain_begins = 0; }
    """
    # Envoy creates all filters of a chain before it calls one: the same number for all of them, another for the next chain.
    uint64_t chain_number "brownout_filter_created"() noexcept nogil
    void chain_is_created "brownout_chain_created"() noexcept nogil
    void** _own_lists "brownout_own_requests"() noexcept nogil
    int64_t _next_number "brownout_next_request"() noexcept nogil

cdef inline stream_t** _list_of(int64_t request) noexcept nogil:
    return <stream_t**>_own_lists() + (<uint64_t>request & 255)

cdef inline void join_request(stream_t* stream, bint first_of_all) noexcept nogil:
    """List a stream under its request's number; if it has none yet, only a stream that is `first_of_all` assigns one."""
    cdef buffer_t value
    cdef buffer_t key = text(b"brownout.request", 16)
    cdef stream_t** first
    if stream.link.home != NULL:
        return
    if get_filter_state(stream.envoy, key, &value) and value.length == sizeof(int64_t):
        memcpy(&stream.link.request, value.data, sizeof(int64_t))
    elif not first_of_all:
        return
    else:
        stream.link.request = _next_number()
        if not set_filter_state(stream.envoy, key, text(<const char*>&stream.link.request, sizeof(int64_t))):
            return
    first = _list_of(stream.link.request)
    stream.link.home = _own_lists()
    stream.link.next = first[0]
    stream.link.to_this = first
    if first[0] != NULL:
        first[0].link.to_this = &stream.link.next
    first[0] = stream

cdef inline void leave_request(stream_t* stream) noexcept nogil:
    """Unlist a stream, if it still is listed."""
    if stream.link.home == NULL:
        return
    if stream.link.home == _own_lists():
        _unlink(stream)
    else:
        references_add(&stream.references)
        write_word(&stream.link.request, 0)

cdef inline void _unlink(stream_t* stream) noexcept nogil:
    stream.link.to_this[0] = stream.link.next
    if stream.link.next != NULL:
        stream.link.next.link.to_this = stream.link.to_this
    stream.link.home = NULL

# The next one of the same request after `previous`, from the beginning of the list when that is NULL.
cdef inline stream_t* next_of_request(const stream_t* stream, stream_t* previous) noexcept nogil:
    cdef int64_t request
    cdef stream_t* other
    cdef stream_t* next
    if stream.link.home == NULL or stream.link.home != _own_lists():
        return NULL
    next = _list_of(stream.link.request)[0] if previous == NULL else previous.link.next
    while next != NULL:
        other = next
        next = other.link.next
        request = read_word(&other.link.request)
        if request == 0:
            _unlink(other)
            stream_release(other)
        elif request == stream.link.request and other != stream:
            return other
    return NULL

cdef inline stream_t* manager_of(const stream_t* stream) noexcept nogil:
    """Return the connection manager's filter of a listed attempt's request, the nearest to the router, or NULL."""
    cdef stream_t* other = next_of_request(stream, NULL)
    while other != NULL and other.place != IN_MANAGER:
        other = next_of_request(stream, other)
    return other

# Two filters of one attempt are no rivals.
cdef inline bint _is_rival(const stream_t* stream, const stream_t* other) noexcept nogil:
    return other.place == IN_CLUSTER and other.attempt != stream.attempt

cdef inline stream_t* next_rival(const stream_t* stream, stream_t* previous) noexcept nogil:
    """Return another attempt at the request that waits for a response or is held with one, or NULL."""
    cdef stream_t* other = next_of_request(stream, previous)
    while other != NULL and not _is_rival(stream, other):
        other = next_of_request(stream, other)
    return other

cdef inline bint has_rival(const stream_t* stream) noexcept nogil:
    return next_rival(stream, NULL) != NULL
