# What the connection manager's filter does for the attempts in the cluster's: see hold.pxi for why.

# The response of an attempt has come through the router.
cdef int _meet_response(stream_t* stream, bint ended) noexcept nogil:
    cdef assist_t* assist = &stream.assist
    if assist.rewritten_grpc and not ended:
        # The router has seen the status; for everybody else it stands in the trailers.
        set_header(stream.envoy, RESPONSE_HEADERS, text(b"grpc-status", 11), text(NULL, 0))
        set_header(stream.envoy, RESPONSE_HEADERS, text(b"grpc-message", 12), text(NULL, 0))
    if assist.landing:
        assist.landing = False
        if ended:
            return CONTINUE
        stream.phase = LANDING
        return STOP
    if assist.mark and take_mark(stream.envoy, assist.mark):
        assist.mark = 0
        stream.response_ended = ended
        stream.complete = ended
        return _hold_for_attempt(stream)
    return CONTINUE


cdef int _hold_for_attempt(stream_t* stream) noexcept nogil:
    cdef int64_t now = clock_ns(CLOCK_MONOTONIC)
    if _is_halted():
        return CONTINUE
    if stream.assist.due - now >= NEGLIGIBLE_NS:
        return _hold(stream, now, stream.assist.due)
    if stream.effect != REPLACED:
        return CONTINUE
    return _replace_soon(stream, now)


# In the attempt's hook: its response goes on at once, and the connection manager's filter waits until it is due. That
# also replaces it: a reply of the cluster's filter would leave the upstream's stream to the router until then.
cdef int _hand_over(stream_t* stream, stream_t* manager, int64_t due) noexcept nogil:
    cdef int next = CONTINUE
    manager.assist.due = due
    manager.assist.mark = next_word(thread_rng()) | 1
    config_retain(stream.config)
    if manager.config != NULL:
        config_release(manager.config)
    manager.config = stream.config
    manager.rule = stream.rule
    manager.effect = AS_IT_IS
    if stream.effect == REPLACED:
        _count_delivery(stream)
        manager.effect = REPLACED
        manager.draw = stream.draw
        manager.in_flight = stream.in_flight
        manager.worker = stream.worker
        manager.elapsed = stream.elapsed
        manager.added = stream.added
        manager.upstream_status = stream.upstream_status
        stream.phase = PASSING
    else:
        next = _deliver(stream, AT_HEADERS)
    mark_response(stream.envoy, manager.assist.mark)
    leave_request(stream)
    return next


# The response goes on, and all of it arrives in the connection manager's filter before this returns.
cdef void _land(stream_t* stream, stream_t* manager) noexcept nogil:
    cdef uint64_t size, limit
    if stream.has_trailers and applies(MAKE_ROOM):
        # Before the trailers the router still refers to the upstream's stream: the body must not pause it.
        size = get_body_size(stream.envoy, BUFFERED_RESPONSE_BODY)
        limit = get_buffer_limit(manager.envoy)
        if _is_beyond(size + LANDING_ROOM, limit):
            set_buffer_limit(manager.envoy, size + LANDING_ROOM)
    references_add(&manager.references)
    manager.assist.landing = True
    continue_encoding(stream.envoy)
    manager.assist.landing = False
    stream_release(manager)


cdef enum:
    LANDING_ROOM = 4096


cdef void _local_reply(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream != NULL:
        stream.local = True


cdef void _client_paused(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream != NULL:
        stream.assist.pauses += 1


cdef void _client_resumed(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef stream_t* attempt
    cdef void* scheduler
    if stream == NULL:
        return
    stream.assist.pauses -= 1
    if stream.assist.pauses > 0:
        return
    attempt = next_of_request(stream, NULL)
    while attempt != NULL:
        if attempt.phase == PAUSED:
            scheduler = scheduler_new(attempt.envoy)
            scheduler_commit(scheduler, EVENT_RESUMED)
            scheduler_delete(scheduler)
        attempt = next_of_request(stream, attempt)
