# The response's hooks: decide what happens to it and when; hold it for what remains of its delay, then let it go.

cdef int _response_headers(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef int next
    if stream == NULL:
        return CONTINUE
    if stream.place == IN_MANAGER and stream.assist.active:
        return _meet_response(stream, ended)
    if stream.phase != WAITING and stream.phase != LAPSED:
        return CONTINUE
    stream.response_ended = ended
    stream.complete = ended
    next = _decide(stream)
    if next == CONTINUE:
        leave_request(stream)
    return next


cdef inline int _decide(stream_t* stream) noexcept nogil:
    cdef int64_t now, remaining
    cdef stream_t* manager = NULL
    if stream.local and load_signed(&_clusters_met):
        # A reply of Envoy's own, where faults are the clusters' filters' to inject.
        stream.phase = PASSING
        return CONTINUE
    survey(stream)
    if stream.phase == LAPSED or _has_expired(stream.rule):
        _pass_as_it_is(stream, EVENT_EXPIRED)
        return CONTINUE
    if _is_halted():
        _pass_as_it_is(stream, EVENT_HALTED)
        return CONTINUE
    now = clock_ns(CLOCK_MONOTONIC)
    stream.elapsed = now - stream.started
    record_us(stream.envoy, stream.filter.target_us, stream.draw.target_ns)
    stream.effect = _effect_of(stream)
    remaining = stream.draw.target_ns - stream.elapsed
    if remaining < NEGLIGIBLE_NS:
        if stream.place == IN_MANAGER and stream.effect == REPLACED:
            return _replace_soon(stream, now)
        return _deliver(stream, AT_HEADERS)
    if stream.place == IN_CLUSTER and not stream.request_ended:
        manager = manager_of(stream)
        if manager != NULL and applies(HAND_OVER_EARLY):
            stream.added = remaining
            return _hand_over(stream, manager, _after(now, remaining))
        if manager == NULL and applies(SKIP_EARLY_ALONE):
            _skip(stream, SKIPPED_UPGRADE if _is_tunnel(stream) else SKIPPED_EARLY)
            return _deliver(stream, AT_HEADERS)
    stream.added = remaining
    return _hold(stream, now, _after(now, remaining))


cdef int _response_body(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP_AND_DROP
    if stream.phase == PASSING:
        return CONTINUE
    if stream.phase == HOLDING:
        return _keep_body(stream, ended)
    if stream.phase == LANDING:
        if not ended:
            # An empty piece would be a body for a transcoder.
            return STOP_AND_KEEP if get_body_size(envoy, RECEIVED_RESPONSE_BODY) else STOP_AND_DROP
        stream.phase = PASSING
    elif stream.phase == REWRITING:
        rewrite_body(stream)
        if stream.new_trailers and not ended:
            return STOP_AND_DROP
    elif stream.phase == ENDING:
        if not ended:
            stream.cut = True
            return STOP_AND_DROP
        return _replace_now(stream, AT_END)
    return CONTINUE


cdef int _response_trailers(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return STOP
    if stream.phase == HOLDING:
        return _keep_trailers(stream)
    if stream.phase == LANDING:
        stream.phase = PASSING
    elif stream.phase == REWRITING:
        rewrite_trailers(stream)
    elif stream.phase == ENDING:
        stream.has_trailers = True
        return _replace_now(stream, HELD)
    return CONTINUE


# In the hook of a response's end.
cdef inline int _replace_now(stream_t* stream, int stage) noexcept nogil:
    stream.complete = True
    timer_cancel(stream)
    _let_go(stream)
    return _deliver(stream, stage)


cdef void _scheduled(void* envoy, const void* module, uint64_t event) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return
    if stream.place == IN_MANAGER:
        if stream.phase == HOLDING or stream.phase == ENDING:
            _release_in_manager(stream, event)
    elif stream.phase == (PAUSED if event == EVENT_RESUMED else HOLDING):
        _release(stream, event)
