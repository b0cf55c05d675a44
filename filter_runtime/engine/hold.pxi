# While a response is held.
#
# Once a response is complete Envoy (1.38 to 1.40) has freed the codec's stream, while its router still refers to it if
# a filter of the cluster holds the response. Whatever touches that stream ends Envoy. The invariant that prevents it:
#
#   A complete response that is held in the cluster is let go only while the client's connection is not paused, and the
#   connection manager's filter keeps it until all of it has come: nothing is written to the client before the router
#   has let go of the stream.
#
# What breaks it otherwise:
# - The client's connection pauses and resumes the upstream's stream. While the router waits for headers it only counts
#   the pauses, and makes up for them when the headers come. (AWAIT_CLIENT, RELAY)
# - Writing the headers may pause the connection, too. (LAND)
# - With trailers, so may the body: see `_land`. One that is larger than the buffers has paused the stream already and
#   would resume it: it goes on when its trailers come, and the connection manager's filter holds it. (`oversized`)
# - The router resets the stream of a response that came before the request had ended. Such a response is handed over to
#   the connection manager's filter when it begins.
# - The router gives up an error, or a success that is to be retried, while another attempt is under way, and does not
#   expect what is sent on behind the headers. (RELAY, RESET, AWAIT_RIVALS)
#
# In the connection manager's chain none of this exists, since the router is done; nor do pauses for Envoy's own calls.
# The cluster's filter alone cannot keep the invariant, so it relays.

cdef enum:
    # A delay this short is over before any timer could start.
    NEGLIGIBLE_NS = 1000
    # Until a response that must not go on yet is looked at again.
    AGAIN_NS = 2000000
    # How long a response that is to be replaced may take to end, once its time has come.
    ENDING_NS = 5000000


cdef inline int64_t _after(int64_t now, int64_t ns) noexcept nogil:
    return now + ns if ns < INT64_MAX - 1 - now else INT64_MAX - 1


# Hold the response until `deadline`, or until its fault expires. STOP, or CONTINUE when there is no timer.
cdef int _hold(stream_t* stream, int64_t now, int64_t deadline) noexcept nogil:
    cdef int64_t until_expiry
    stream.timer.deadline = deadline
    stream.timer.expires = False
    if stream.rule.expires_at != INT64_MAX:
        until_expiry = stream.rule.expires_at - clock_ns(CLOCK_REALTIME)
        if until_expiry < deadline - now:
            stream.timer.deadline = now + until_expiry
            stream.timer.expires = True
    return _keep(stream, HOLDING)


cdef int _keep(stream_t* stream, int phase) noexcept nogil:
    if not timer_arm(stream):
        count_class(stream.envoy, stream.filter, ERRORS, stream.upstream_status)
        stream.phase = PASSING
        return CONTINUE
    stream.phase = phase
    if not stream.held:
        stream.held = True
        raise_gauge(stream.envoy, stream.filter.held)
    return STOP


# What is to be replaced in the connection manager waits for its end, but not for long.
cdef inline int _replace_soon(stream_t* stream, int64_t now) noexcept nogil:
    if stream.complete:
        return _deliver(stream, AT_HEADERS)
    stream.timer.deadline = now + ENDING_NS
    stream.timer.expires = False
    return _keep(stream, ENDING)


# From `scheduled`: hold a little longer.
cdef inline bint _hold_again(stream_t* stream, int64_t ns) noexcept nogil:
    _wait_for_commit()  # the timer has let go of the stream
    stream.timer.deadline = clock_ns(CLOCK_MONOTONIC) + ns
    stream.timer.expires = False
    return timer_arm(stream)


cdef int _keep_body(stream_t* stream, bint ended) noexcept nogil:
    if ended:
        stream.complete = True
    if stream.effect == REPLACED or stream.effect == REWRITTEN:
        if not ended and is_grpc(stream.envoy):
            # A call that fails has no body, not even an empty one: a transcoder would take it for the answer.
            stream.cut = True
            return STOP_AND_DROP
        _keep_little(stream)
    return STOP_AND_KEEP


# A body that is to be replaced is kept for a halt or an expiry, which let it pass, but not so much of it that Envoy
# pauses the upstream: it would be touched again when the body is dropped.
cdef void _keep_little(stream_t* stream) noexcept nogil:
    cdef void* envoy = stream.envoy
    cdef size_t received = get_body_size(envoy, RECEIVED_RESPONSE_BODY)
    if not applies(KEEP_LITTLE):
        return
    if stream.cut or _is_beyond(get_body_size(envoy, BUFFERED_RESPONSE_BODY) + received, get_buffer_limit(envoy)):
        drain_body(envoy, RECEIVED_RESPONSE_BODY, received)
        stream.cut = True


# A limit of 0 is none.
cdef inline bint _is_beyond(size_t size, uint64_t limit) noexcept nogil:
    return limit and size > limit


cdef int _keep_trailers(stream_t* stream) noexcept nogil:
    cdef stream_t* manager
    cdef size_t size
    stream.complete = True
    stream.has_trailers = True
    if stream.place == IN_MANAGER or stream.internal:
        return STOP
    manager = manager_of(stream)
    if stream.effect == REPLACED or stream.effect == REWRITTEN:
        stream.cut = stream.cut or manager == NULL
        return STOP
    if manager == NULL:
        if has_rival(stream) or not applies(SKIP_TRAILERS_ALONE):
            return STOP
        if stream.effect == DESCRIBED:
            _skip(stream, SKIPPED_TRAILERS)
        return _let_go_now(stream)
    size = get_body_size(stream.envoy, BUFFERED_RESPONSE_BODY)
    stream.oversized = _is_beyond(size, get_buffer_limit(stream.envoy)) or _is_beyond(
        size, get_buffer_limit(manager.envoy)
    )
    if not stream.oversized or has_rival(stream) or not applies(HAND_OVER_OVERSIZED):
        return STOP
    timer_cancel(stream)
    _let_go(stream)
    if stream.effect == AS_IT_IS:
        _pass_as_it_is(stream, stream.released_by)
        leave_request(stream)
        return CONTINUE
    return _hand_over(stream, manager, _after(stream.started, stream.draw.target_ns))


# In a hook of the response, before its time has come.
cdef int _let_go_now(stream_t* stream) noexcept nogil:
    cdef int next
    timer_cancel(stream)
    _let_go(stream)
    if stream.effect == AS_IT_IS:
        _pass_as_it_is(stream, stream.released_by)
        leave_request(stream)
        return CONTINUE
    stream.added = clock_ns(CLOCK_MONOTONIC) - stream.started - stream.elapsed
    next = _deliver(stream, AT_HEADERS)
    if next == CONTINUE:
        leave_request(stream)
    return next


# The end of a hold in the cluster.
cdef void _release(stream_t* stream, uint64_t event) noexcept nogil:
    cdef stream_t* manager = manager_of(stream)
    cdef int way
    if (event == EVENT_EXPIRED or event == EVENT_HALTED) and not stream.cut:
        stream.effect = AS_IT_IS
        stream.released_by = event
    if stream.effect == REWRITTEN and stream.complete and manager == NULL and not stream.internal:
        stream.effect = REPLACED
    way = _way_of(stream, manager)
    if way == AWAIT_CLIENT:
        stream.phase = PAUSED
        return
    if way == AWAIT_RIVALS:
        stream.awaits_rivals = True
        stream.phase = HOLDING
        if _hold_again(stream, AGAIN_NS):
            return
        way = RESET
    if way == RELAY and stream.effect == REWRITTEN:
        stream.effect = REPLACED
    _let_go(stream)
    if stream.effect == AS_IT_IS:
        _pass_as_it_is(stream, stream.released_by)
    elif way != RESET and _deliver(stream, HELD) != CONTINUE:
        return
    leave_request(stream)
    _send_on(stream, manager, way)


# The end of a hold in the connection manager.
cdef void _release_in_manager(stream_t* stream, uint64_t event) noexcept nogil:
    if stream.phase == HOLDING:
        if (event == EVENT_EXPIRED or event == EVENT_HALTED) and not stream.cut:
            stream.effect = AS_IT_IS
        elif stream.effect == REPLACED and not stream.complete and _hold_again(stream, ENDING_NS):
            stream.phase = ENDING
            return
    _let_go(stream)
    if stream.effect == AS_IT_IS:
        stream.phase = PASSING
        if event != EVENT_DUE:
            _pass_as_it_is(stream, event)
    elif _deliver(stream, HELD) != CONTINUE:
        return
    continue_encoding(stream.envoy)
