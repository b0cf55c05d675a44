# The request's hooks, and a stream's beginning and end; the response's are in response.pxi.
#
# They run on any thread, without the GIL. On 1.38 and 1.39 Envoy still calls response hooks after destroy, with NULL for
# the stream: the router has given up such a response, and what is left of it ends here.

cdef struct counter_t:
    char _apart[120]
    uint64_t value
    char _end[120]

cdef counter_t _in_flight  # matched requests of this process
cdef int64_t _clusters_met  # atomic: some cluster's filter has seen a request


cdef const void* _filter_new(const void* config, void* envoy) noexcept nogil:
    cdef stream_t* stream = stream_new(envoy, <const filter_config_t*>config)
    if stream != NULL:
        stream.attempt = chain_number()
    return stream


cdef int _request_headers(void* envoy, const void* module, c_bool ended) noexcept nogil:
    cdef stream_t* stream = <stream_t*>module
    cdef config_t* config
    if stream == NULL:
        return CONTINUE
    chain_is_created()
    stream.request_ended = ended
    if _is_halted():
        return CONTINUE
    _find_place(stream)
    config = <config_t*>route_config(envoy)
    if config == NULL:
        config = stream.filter.config
    if stream.place == IN_MANAGER:
        _enter_manager(stream, config)
    else:
        _enter_cluster(stream, config)
    return CONTINUE


# Envoy 1.38 does not number attempts: there each has the number of its chain.
cdef inline void _find_place(stream_t* stream) noexcept nogil:
    cdef buffer_t address
    cdef bint in_cluster
    if knows_attempts():
        in_cluster = get_number(stream.envoy, UPSTREAM_ATTEMPT, &stream.attempt) and stream.attempt > 0
    else:
        in_cluster = get_attribute(stream.envoy, UPSTREAM_ADDRESS, &address)
    stream.place = IN_CLUSTER if in_cluster else IN_MANAGER


# Whether an attempt will come is not known yet: decide, and hand the decision over to the first one.
cdef inline void _enter_manager(stream_t* stream, config_t* config) noexcept nogil:
    join_request(stream, True)
    config_retain(config)
    stream.assist.config = config
    stream.assist.rule = first_match(config, stream.envoy)
    _decide_part(stream, config, stream.assist.rule)


# With the same configuration the connection manager's filter has found the rule, by what the client asked for: the
# router may have rewritten it since.
cdef inline void _enter_cluster(stream_t* stream, config_t* config) noexcept nogil:
    cdef uint64_t connection
    cdef rule_t* rule
    cdef stream_t* manager
    if not load_signed(&_clusters_met):
        store_signed(&_clusters_met, 1)
    join_request(stream, False)
    manager = manager_of(stream)
    if manager == NULL:
        stream.internal = not get_number(stream.envoy, CONNECTION_ID, &connection)
        if stream.internal:
            if not _is_mirrored(stream.envoy):
                _decide_part(stream, config, first_match(config, stream.envoy))
            return
    elif manager.assist.config == config:
        if manager.assist.active:
            _decide_part(stream, config, manager.assist.rule)
        else:
            manager.assist.active = True
            _take_over(stream, manager)
        return
    rule = first_match(config, stream.envoy)
    if rule == NULL:
        leave_request(stream)
        return
    if manager == NULL:
        join_request(stream, True)
    elif not manager.assist.active:
        manager.assist.active = True
        _withdraw(manager)
    _decide_part(stream, config, rule)


# Envoy's connection manager gives every request these two; a copy of one has them, Envoy's own calls have not.
cdef inline bint _is_mirrored(void* envoy) noexcept nogil:
    cdef buffer_t value
    if get_attribute(envoy, REQUEST_HOST, &value) and _is_shadow(value):
        return True
    return get_header(envoy, REQUEST_HEADERS, text(b"x-forwarded-proto", 17), &value, 0, NULL) and get_header(
        envoy, REQUEST_HEADERS, text(b"x-request-id", 12), &value, 0, NULL
    )


# Envoy appends `-shadow` to the host, before its port.
cdef inline bint _is_shadow(buffer_t host) noexcept nogil:
    cdef size_t end = host.length
    while end and 48 <= host.data[end - 1] <= 57:
        end -= 1
    if end and host.data[end - 1] == c":":
        end -= 1
    else:
        end = host.length
    return end >= 7 and memcmp(host.data + end - 7, b"-shadow", 7) == 0


cdef inline void _decide_part(stream_t* stream, config_t* config, rule_t* rule) noexcept nogil:
    stream.rule = rule
    if rule == NULL:
        return
    if rule.share < 1.0 and unit(thread_rng()) >= rule.share:
        return
    config_retain(config)
    stream.config = config
    if _has_expired(rule):
        stream.phase = LAPSED
        return
    _enter(stream)


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


# The attempt goes on with what the connection manager's filter drew and counted; its clock starts now.
cdef inline void _take_over(stream_t* stream, stream_t* manager) noexcept nogil:
    stream.rule = manager.rule
    stream.config = manager.config
    stream.phase = manager.phase
    stream.draw = manager.draw
    stream.in_flight = manager.in_flight
    stream.worker = manager.worker
    stream.counted = manager.counted
    manager.config = NULL
    manager.phase = PASSING
    if manager.counted:
        manager.counted = False
        lower_gauge(manager.envoy, manager.filter.in_flight)
        raise_gauge(stream.envoy, stream.filter.in_flight)
        stream.started = clock_ns(CLOCK_MONOTONIC)


cdef inline void _withdraw(stream_t* stream) noexcept nogil:
    stream.phase = PASSING
    if stream.counted:
        stream.counted = False
        in_flight_leave(&_in_flight.value)
        in_flight_leave(&stream.rule.state.endpoint.in_flight)
        lower_gauge(stream.envoy, stream.filter.in_flight)
    if stream.config != NULL:
        config_release(stream.config)
        stream.config = NULL


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
    leave_request(stream)
    if stream.held:
        timer_cancel(stream)
        _let_go(stream)
    timer_finish(stream)
    _withdraw(stream)
    if stream.assist.config != NULL:
        config_release(stream.assist.config)
    stream_release(stream)
