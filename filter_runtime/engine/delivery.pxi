# Carries out what was decided, and lets responses go.

cdef extern from *:
    """
    #define BROWNOUT_ALONE \
        "brownout: a request passed the filter of a cluster but not that of a connection manager. Early answers, " \
        "upgrades and responses with trailers are not delayed then, and the router does not retry an error that was. " \
        "Put the filter in both places. (This is said once.)"
    """
    const char* ALONE "BROWNOUT_ALONE"
    size_t ALONE_LENGTH "(sizeof BROWNOUT_ALONE - 1)"

# Counts and describes; then changes the response (CONTINUE) or answers in its place (STOP: the stream may be gone).
# `stage` is where in the response this happens: see rewrite.pxd.
cdef int _deliver(stream_t* stream, int stage) noexcept nogil:
    cdef fields_t fields
    cdef void* envoy = stream.envoy
    describe(&fields, stream, stream.effect != DESCRIBED)
    add_to_span(&fields, envoy)
    if not stream.assist.active:
        _count_delivery(stream)
    stream.phase = PASSING
    if stream.effect == DESCRIBED:
        if stream.rule.headers:
            if stream.upstream_fields:
                drop_fields(envoy)
            add_to_response(&fields, envoy)
        return CONTINUE
    if stream.effect == REPLACED and not _replaces_in_place(stream):
        if send_reply(stream, &fields, stream.rule.headers):
            return STOP
    elif rewrite_headers(stream, &fields, stage):
        return CONTINUE
    count_class(envoy, stream.filter, ERRORS, stream.upstream_status)
    return CONTINUE


# The filter that decided counts, also what it hands over.
cdef inline void _count_delivery(const stream_t* stream) noexcept nogil:
    if stream.added > 0:
        count_class(stream.envoy, stream.filter, DELAYED, stream.draw.status)
        record_us(stream.envoy, stream.filter.added_us, stream.added)
    if stream.effect != DESCRIBED:
        count_class(stream.envoy, stream.filter, INJECTED, stream.draw.status)


# A reply from the connection manager's filter to a response that has begun would bypass the other filters. What is
# complete can become the reply instead; but a call's status has to go into trailers, which cannot be added.
cdef inline bint _replaces_in_place(const stream_t* stream) noexcept nogil:
    if stream.place != IN_MANAGER or not stream.complete or not applies(REPLACE_IN_PLACE):
        return False
    return stream.response_ended or stream.has_trailers or not is_grpc(stream.envoy)


cdef inline void _pass_as_it_is(stream_t* stream, uint64_t why) noexcept nogil:
    stream.phase = PASSING
    if why == EVENT_EXPIRED:
        count_class(stream.envoy, stream.filter, EXPIRED, stream.upstream_status)
    else:
        count(stream.envoy, stream.filter.released)


cdef inline void _skip(const stream_t* stream, int reason) noexcept nogil:
    count(stream.envoy, stream.filter.skipped[reason])
    _say_alone()


cdef int64_t _said_alone  # atomic


cdef inline void _say_alone() noexcept nogil:
    if not load_signed(&_said_alone) and replace_word(&_said_alone, 0, 1):
        envoy_log(LOG_INFO, text(ALONE, ALONE_LENGTH))


cdef inline void _let_go(stream_t* stream) noexcept nogil:
    stream.held = False
    lower_gauge(stream.envoy, stream.filter.held)


# The stream may be gone afterwards.
cdef void _send_on(stream_t* stream, stream_t* manager, int way) noexcept nogil:
    cdef void* envoy = stream.envoy
    if way == RELAY:
        count(envoy, stream.filter.relayed)
        if manager == NULL:
            _say_alone()
        if relay(envoy):
            return
        way = RESET
    if way == RESET:
        count(envoy, stream.filter.given_up)
        reset_stream(envoy, RESET_REFUSED, text(b"brownout_attempt_given_up", 25))
    elif way == LAND:
        _land(stream, manager)
    else:
        continue_encoding(envoy)
