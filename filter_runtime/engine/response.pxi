# The response's hooks: hold it for what remains of its delay, then let it go as it is, described, replaced or rewritten.

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
        return _deliver(stream)
    if not (stream.request_ended or stream.rule.may_hold_early or stream.upstream_status == SWITCHING_PROTOCOLS):
        # Envoy crashes when such a response of an HTTP/1 upstream is held and then complete.
        count_class(envoy, stream.filter, SKIPPED, stream.upstream_status)
        return _deliver(stream)
    return _hold(stream, now, remaining)


# An upgrade has a status that no profile can name: a sampled success lets it happen.
cdef inline bint _forces(const stream_t* stream) noexcept nogil:
    if stream.upstream_status == SWITCHING_PROTOCOLS:
        return stream.draw.status >= 400
    return stream.draw.status != stream.upstream_status


cdef int _hold(stream_t* stream, int64_t now, int64_t remaining) noexcept nogil:
    cdef int64_t until_expiry
    stream.added = remaining
    stream.timer.deadline = now + remaining if remaining < INT64_MAX - 1 - now else INT64_MAX - 1
    if stream.rule.expires_at != INT64_MAX:
        until_expiry = stream.rule.expires_at - clock_ns(CLOCK_REALTIME)
        if until_expiry < remaining:
            stream.timer.deadline = now + until_expiry
            stream.timer.expires = True
    if not timer_arm(stream):
        count_class(stream.envoy, stream.filter, ERRORS, stream.upstream_status)
        stream.phase = PASSING
        return CONTINUE
    stream.phase = HOLDING
    raise_gauge(stream.envoy, stream.filter.held)
    if stream.response_ended and _forces(stream) and stream.rule.behavior.override_upstream:
        return STOP  # with anything stronger no body can be appended
    return STOP_ALL_AND_WATERMARK


# Lets the response go as the upstream sent it.
cdef int _pass(stream_t* stream, int why) noexcept nogil:
    stream.phase = PASSING
    if why == EVENT_EXPIRED:
        count_class(stream.envoy, stream.filter, EXPIRED, stream.upstream_status)
    else:
        count(stream.envoy, stream.filter.released)
    return CONTINUE


# In a hook the changed headers just go on; with the new body appended to a response that had none, too.
cdef inline int _rewrite(stream_t* stream, const fields_t* fields, bint with_fields) noexcept nogil:
    if not rewrite_headers(stream, fields, with_fields):
        count_class(stream.envoy, stream.filter, ERRORS, stream.upstream_status)
    return CONTINUE


cdef int _response_body(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP_AND_DROP
    if stream.phase == REWRITING:
        rewrite_body(stream)
    return CONTINUE


cdef int _response_trailers(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP
    if stream.phase == REWRITING:
        rewrite_trailers(stream)
    return CONTINUE


# Does what was drawn, once its time has come. The stream may be gone afterwards unless this says CONTINUE.
cdef int _deliver(stream_t* stream) noexcept nogil:
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
        return _rewrite(stream, &fields, with_fields)
    if not send_reply(stream, &fields, with_fields):
        count_class(envoy, stream.filter, ERRORS, stream.upstream_status)
        return CONTINUE
    return STOP


cdef void _scheduled(void* envoy, const void* module, uint64_t event) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL or stream.phase != HOLDING:
        return
    lower_gauge(envoy, stream.filter.held)
    if (_pass(stream, event) if event != EVENT_DUE else _deliver(stream)) != CONTINUE:
        return
    attempt_ends(stream)
    if _is_futile(stream, stream.upstream_status if event != EVENT_DUE else stream.draw.status):
        reset_stream(envoy, RESET_REFUSED, text(b"brownout_attempt_given_up", 25))
    else:
        continue_encoding(envoy)


# An error that the router would give up for another attempt's sake, and that must not go on: see attempts.pxd. Headers
# alone may.
cdef inline bint _is_futile(const stream_t* stream, int status) noexcept nogil:
    return status >= 400 and not stream.response_ended and has_rival(stream)
