# The response's hooks: hold it for what remains of its delay (hold.pxi), then let it go as it is, described, replaced or
# rewritten.

cdef enum:
    # A delay this short is over before any timer could start.
    NEGLIGIBLE_NS = 1000
    SWITCHING_PROTOCOLS = 101


cdef int _response_headers(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef int next
    if stream == NULL:
        return CONTINUE
    next = _decide(envoy, stream, ended)
    if next == CONTINUE:
        attempt_ends(stream)
    return next


cdef inline int _decide(void* envoy, stream_t* stream, bint ended) noexcept nogil:
    cdef int64_t now, remaining
    if stream.phase != WAITING and stream.phase != LAPSED:
        return CONTINUE
    stream.response_ended = ended
    stream.complete = ended
    survey(stream)
    if stream.phase == LAPSED or _has_expired(stream.rule):
        return _pass(stream, EVENT_EXPIRED)
    if _is_halted():
        return _pass(stream, EVENT_HALTED)
    now = clock_ns(CLOCK_MONOTONIC)
    stream.elapsed = now - stream.started
    record_us(envoy, stream.filter.target_us, stream.draw.target_ns)
    remaining = stream.draw.target_ns - stream.elapsed
    if remaining < NEGLIGIBLE_NS:
        return _deliver(stream, held=False)
    if not (stream.request_ended or stream.rule.may_hold_early or stream.upstream_status == SWITCHING_PROTOCOLS):
        # Envoy crashes when such a response of an HTTP/1 upstream is held and then complete.
        count_class(envoy, stream.filter, SKIPPED, stream.upstream_status)
        return _deliver(stream, held=False)
    return _hold(stream, now, remaining)


# An upgrade has a status that no profile can name: a sampled success lets it happen.
cdef inline bint _forces(const stream_t* stream) noexcept nogil:
    if stream.upstream_status == SWITCHING_PROTOCOLS:
        return stream.draw.status >= 400
    return stream.draw.status != stream.upstream_status


# Lets the response go as the upstream sent it.
cdef int _pass(stream_t* stream, int why) noexcept nogil:
    stream.phase = PASSING
    if why == EVENT_EXPIRED:
        count_class(stream.envoy, stream.filter, EXPIRED, stream.upstream_status)
    else:
        count(stream.envoy, stream.filter.released)
    return CONTINUE


# In a hook the changed headers just go on; with the new body appended to a response that had none, too.
cdef inline int _rewrite(stream_t* stream, const fields_t* fields, bint with_fields, bint held) noexcept nogil:
    if not rewrite_headers(stream, fields, with_fields, held):
        count_class(stream.envoy, stream.filter, ERRORS, stream.upstream_status)
    return CONTINUE


cdef int _response_body(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP_AND_DROP
    if stream.phase == HOLDING:
        return _keep_body(stream, ended)
    if stream.phase == REWRITING:
        rewrite_body(stream)
    return CONTINUE


cdef int _response_trailers(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP
    if stream.phase == HOLDING:
        return _keep_trailers(stream)
    if stream.phase == REWRITING:
        rewrite_trailers(stream)
    return CONTINUE


# Does what was drawn, once its time has come. The stream may be gone afterwards unless this says CONTINUE.
cdef int _deliver(stream_t* stream, bint held) noexcept nogil:
    cdef fields_t fields
    cdef bint forces = _forces(stream)
    cdef bint with_fields = stream.rule.headers
    cdef void* envoy = stream.envoy
    describe(&fields, stream, forces)
    add_to_span(&fields, envoy)
    if stream.added > 0:
        count_class(envoy, stream.filter, DELAYED, stream.draw.status)
        record_us(envoy, stream.filter.added_us, stream.added)
    stream.phase = PASSING
    if not forces:
        if with_fields:
            if stream.upstream_fields:
                drop_fields(envoy)
            add_to_response(&fields, envoy)
        return CONTINUE
    count_class(envoy, stream.filter, INJECTED, stream.draw.status)
    if stream.rule.behavior.override_upstream:
        return _rewrite(stream, &fields, with_fields, held)
    if not send_reply(stream, &fields, with_fields):
        count_class(envoy, stream.filter, ERRORS, stream.upstream_status)
        return CONTINUE
    return STOP
