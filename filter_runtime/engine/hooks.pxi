# The request's hooks, and a stream's beginning and end; the response's are in response.pxi.
#
# They run on any thread, without the GIL. On 1.38 and 1.39 Envoy still calls response hooks after destroy, with NULL for
# the stream: the router has given up such a response, and what is left of it ends here.

cdef struct counter_t:
    char _apart[120]
    uint64_t value
    char _end[120]

cdef counter_t _in_flight  # matched requests of this process


cdef const void* _filter_new(const void* config, void* envoy) noexcept nogil:
    return stream_new(envoy, <const filter_config_t*>config)


cdef int _request_headers(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef config_t* config
    cdef rule_t* rule
    if stream == NULL:
        return CONTINUE
    stream.request_ended = ended
    if _is_halted():
        return CONTINUE
    config = <config_t*>route_config(envoy)
    if config == NULL:
        config = stream.filter.config
    rule = first_match(config, envoy)
    if rule == NULL:
        return CONTINUE
    attempt_begins(stream)
    if rule.share < 1.0 and unit(thread_rng()) >= rule.share:
        return CONTINUE
    config_retain(config)
    stream.config = config
    stream.rule = rule
    if _has_expired(rule):
        stream.phase = LAPSED
        return CONTINUE
    _enter(stream)
    return CONTINUE


cdef inline bint _has_expired(const rule_t* rule) noexcept nogil:
    return rule.expires_at != INT64_MAX and clock_ns(CLOCK_REALTIME) >= rule.expires_at


cdef inline void _enter(stream_t* stream) noexcept nogil:
    cdef rule_t* rule = stream.rule
    cdef uint64_t of_endpoint = in_flight_enter(&rule.state.endpoint.in_flight)
    stream.in_flight = in_flight_enter(&_in_flight.value)
    stream.counted = True
    stream.started = clock_ns(CLOCK_MONOTONIC)
    stream.worker = worker_index(stream.envoy)
    stream.phase = WAITING
    draw(
        rule.behavior,
        rule.state,
        of_endpoint if rule.behavior.load.per_endpoint else stream.in_flight,
        stream.started,
        thread_rng(),
        &stream.draw,
    )
    raise_gauge(stream.envoy, stream.filter.in_flight)


cdef int _request_body(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream != NULL and ended:
        stream.request_ended = True
    return CONTINUE


cdef int _request_trailers(void* envoy, const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream != NULL:
        stream.request_ended = True
    return CONTINUE


cdef void _filter_destroy(const void* module) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    if stream == NULL:
        return
    attempt_ends(stream)
    if stream.phase == HOLDING:
        timer_cancel(stream)
        lower_gauge(stream.envoy, stream.filter.held)
    timer_finish(stream)
    if stream.counted:
        in_flight_leave(&_in_flight.value)
        in_flight_leave(&stream.rule.state.endpoint.in_flight)
        lower_gauge(stream.envoy, stream.filter.in_flight)
    if stream.config != NULL:
        config_release(stream.config)
    stream_release(stream)
