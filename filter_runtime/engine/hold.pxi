# While a response is held: what comes of it is kept, and it is let go when its time has come.
#
# Once a response is complete Envoy (1.38 to 1.40) is done with the upstream's stream, while the router still refers to
# it if the filter stands before it. What would touch that stream is avoided:
# - The router resets it when the client's request has not ended; but Envoy forwards nothing of a request whose response
#   is complete, so an end that comes during the hold is lost, and with it the reset. Such a response goes to the client
#   as a reply of Envoy's own. If that cannot be (trailers, upgrades) it is let go when it is complete.
# - A client with little room pauses it. A body that may be too much is let go when its trailers come. (Without trailers
#   the router takes its leave of the upstream first.)

cdef enum:
    # What Envoy's advice for edges (a listener's limit of 32 KiB) leaves for a body. The limit of the connection, which
    # streams of HTTP/2 and 3 share, cannot be asked for.
    ROOM = 28672
    # Until a response that must not go on yet is looked at again.
    AGAIN_NS = 2000000


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
    return STOP


cdef int _keep_body(stream_t* stream, bint ended) noexcept nogil:
    if _will_rewrite(stream):
        _keep_little(stream.envoy, &stream.cut)
    if ended:
        stream.complete = True
        if _is_stranded(stream) and not _can_relay(stream):
            return _let_go_now(stream)
    return STOP_AND_KEEP


# A body that is to be replaced is kept for a halt or an expiry, which let it pass, but not so much of it that Envoy
# pauses the upstream: it would be touched again when the body is dropped.
cdef void _keep_little(void* envoy, bint* cut) noexcept nogil:
    cdef size_t received = get_body_size(envoy, RECEIVED_RESPONSE_BODY)
    if cut[0] or get_body_size(envoy, BUFFERED_RESPONSE_BODY) + received > get_buffer_limit(envoy):
        drain_body(envoy, RECEIVED_RESPONSE_BODY, received)
        cut[0] = True


cdef int _keep_trailers(stream_t* stream) noexcept nogil:
    stream.complete = True
    stream.has_trailers = True
    if _is_stranded(stream) or _is_too_much(stream):
        return _let_go_now(stream)
    return STOP


cdef inline bint _will_rewrite(const stream_t* stream) noexcept nogil:
    return stream.rule.behavior.override_upstream and _forces(stream)


# Complete before the request has ended.
cdef inline bint _is_stranded(const stream_t* stream) noexcept nogil:
    return stream.complete and not stream.request_ended and _is_upstream(stream)


cdef inline bint _is_upstream(const stream_t* stream) noexcept nogil:
    cdef uint64_t code
    return not get_number(stream.envoy, RESPONSE_CODE, &code)


cdef inline bint _can_relay(const stream_t* stream) noexcept nogil:
    if stream.has_trailers or stream.upstream_status == SWITCHING_PROTOCOLS:
        return False
    return not (is_grpc(stream.envoy) and get_body_size(stream.envoy, BUFFERED_RESPONSE_BODY))


cdef bint _is_too_much(const stream_t* stream) noexcept nogil:
    cdef uint64_t limit = get_buffer_limit(stream.envoy)
    cdef size_t size = get_body_size(stream.envoy, BUFFERED_RESPONSE_BODY)
    if _will_rewrite(stream) and not is_grpc(stream.envoy):
        size = entry_of(stream).reply.body_length
    return (size > limit // 2 or (size > ROOM and _is_multiplexed(stream))) and _is_upstream(stream)


cdef inline bint _is_multiplexed(const stream_t* stream) noexcept nogil:
    cdef buffer_t protocol
    return get_attribute(stream.envoy, REQUEST_PROTOCOL, &protocol) and (
        protocol.length == 6 and protocol.data[5] in (c"2", c"3")
    )


# In a hook of the response, before its time has come.
cdef int _let_go_now(stream_t* stream) noexcept nogil:
    timer_cancel(stream)
    lower_gauge(stream.envoy, stream.filter.held)
    count_class(stream.envoy, stream.filter, SKIPPED, stream.upstream_status)
    stream.added = clock_ns(CLOCK_MONOTONIC) - stream.started - stream.elapsed
    if _deliver(stream, held=True) != CONTINUE:
        return STOP
    attempt_ends(stream)
    return CONTINUE


cdef void _scheduled(void* envoy, const void* module, uint64_t event) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef bint due
    cdef int status
    if stream == NULL or stream.phase != HOLDING:
        return
    due = event == EVENT_DUE or stream.cut
    status = stream.draw.status if due else stream.upstream_status
    if due and not stream.complete and _is_futile(stream, status) and _look_again(stream):
        return
    lower_gauge(envoy, stream.filter.held)
    if (_deliver(stream, held=True) if due else _pass(stream, event)) != CONTINUE:
        return
    attempt_ends(stream)
    if _is_stranded(stream) and relay(envoy):
        return
    if _is_futile(stream, status):
        reset_stream(envoy, RESET_REFUSED, text(b"brownout_attempt_given_up", 25))
    else:
        continue_encoding(envoy)


# A reset forgets the upstream's stream, so that has to be over: until then, or until the others are, the error waits.
cdef bint _look_again(stream_t* stream) noexcept nogil:
    if _forces(stream) and not stream.rule.behavior.override_upstream:
        return False  # a reply of Envoy's own
    _wait_for_commit()  # the timer has let go of the stream
    stream.timer.deadline = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS
    stream.timer.expires = False
    return timer_arm(stream)


# An error that the router would give up for another attempt's sake, and that must not go on: see attempts.pxd. Headers
# alone may.
cdef inline bint _is_futile(const stream_t* stream, int status) noexcept nogil:
    return status >= 400 and not stream.response_ended and has_rival(stream)
