# Which attempts at the same request are under way on this thread: more than one only when Envoy hedges.
#
# Envoy 1.38 to 1.40 crash when the router gives up an error, because another attempt may still do better, and a filter
# sends on together with its headers what follows them: what had been held, or a body of the filter's own. So the filter
# has to know the other attempts. Headers alone may be given up.
#
# All attempts at a request have its one header map, and run on one thread: the address of the path names the request.
# A stream is linked until its response's headers go on. A list belongs to its thread; a stream that ends on another one
# stays in it, with a reference, until the thread comes by.

from libc.stdint cimport int64_t, uint64_t

from filter_runtime.engine.abi cimport REQUEST_PATH, buffer_t, get_attribute
from filter_runtime.engine.atomic cimport references_add
from filter_runtime.engine.stream cimport stream_release, stream_t
from filter_runtime.engine.sync cimport read_word, write_word

cdef extern from *:
    """
    #define BROWNOUT_LISTS 256
    static __thread void *brownout_attempts[BROWNOUT_LISTS];
    static inline void **brownout_own_attempts(void) { return brownout_attempts; }
    """
    void** _own_attempts "brownout_own_attempts"() noexcept nogil

cdef inline stream_t** _list_of(int64_t request) noexcept nogil:
    return <stream_t**>_own_attempts() + ((<uint64_t>request * <uint64_t>0x9E3779B97F4A7C15) >> 56)

cdef inline void attempt_begins(stream_t* stream) noexcept nogil:
    """Link a stream whose request has come."""
    cdef buffer_t path
    cdef stream_t** first
    if not get_attribute(stream.envoy, REQUEST_PATH, &path):
        return
    first = _list_of(<int64_t>path.data)
    stream.attempt.request = <int64_t>path.data
    stream.attempt.home = _own_attempts()
    stream.attempt.next = first[0]
    stream.attempt.to_this = first
    if first[0] != NULL:
        first[0].attempt.to_this = &stream.attempt.next
    first[0] = stream

cdef inline void attempt_ends(stream_t* stream) noexcept nogil:
    """Unlink it, if it still is linked: its response goes on, or there will be none."""
    if stream.attempt.home == NULL:
        return
    if stream.attempt.home == _own_attempts():
        _unlink(stream)
    else:
        references_add(&stream.references)
        write_word(&stream.attempt.request, 0)

cdef inline void _unlink(stream_t* stream) noexcept nogil:
    stream.attempt.to_this[0] = stream.attempt.next
    if stream.attempt.next != NULL:
        stream.attempt.next.attempt.to_this = stream.attempt.to_this
    stream.attempt.home = NULL

cdef inline bint has_rival(const stream_t* stream) noexcept nogil:
    """Whether another attempt at its request waits for a response, or is held with one."""
    cdef int64_t request = stream.attempt.request, its_request
    cdef stream_t* next = _list_of(request)[0]
    cdef stream_t* other
    while next != NULL:
        other = next
        next = other.attempt.next
        its_request = read_word(&other.attempt.request)
        if its_request == 0:
            _unlink(other)
            stream_release(other)
        elif its_request == request and other != stream and other.filter == stream.filter:
            return True
    return False
