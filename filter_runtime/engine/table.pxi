# The hooks of configurations, on Envoy's main thread under the GIL, and the table of all hooks that the loader takes.

cdef object _load_filter_config = None
cdef object _load_route_config = None


cdef void _define_metrics(void* envoy, filter_config_t* filter) noexcept:
    cdef tuple counters = ("injected", "delayed", "expired", "errors")
    cdef tuple reasons = ("early", "upgrade", "trailers")
    cdef int what, status_class
    for what in range(CLASSED):
        for status_class in range(STATUS_CLASSES):
            name = f"{counters[what]}_{status_class + 2}xx".encode()
            define_counter(envoy, text(name, len(name)), NULL, 0, &filter.by_class[what][status_class])
    for what in range(SKIPPED):
        name = f"skipped_{reasons[what]}".encode()
        define_counter(envoy, text(name, len(name)), NULL, 0, &filter.skipped[what])
    define_counter(envoy, text(b"relayed", 7), NULL, 0, &filter.relayed)
    define_counter(envoy, text(b"given_up", 8), NULL, 0, &filter.given_up)
    define_counter(envoy, text(b"released", 8), NULL, 0, &filter.released)
    define_gauge(envoy, text(b"in_flight", 9), NULL, 0, &filter.in_flight)
    define_gauge(envoy, text(b"held", 4), NULL, 0, &filter.held)
    define_histogram(envoy, text(b"target_us", 9), NULL, 0, &filter.target_us)
    define_histogram(envoy, text(b"added_us", 8), NULL, 0, &filter.added_us)


# One line of Envoy's log for each finding of the profile language.
cdef void _log_refusal(str level, object error) noexcept:
    cdef str line
    cdef bytes message
    for line in str(error).splitlines() or [type(error).__name__]:
        message = f"brownout: {level} configuration refused: {line}".encode("utf-8", "replace")
        envoy_log(LOG_ERROR, text(message, len(message)))


cdef const void* _config_new(void* envoy, buffer_t name, buffer_t raw) noexcept with gil:
    cdef filter_config_t* filter
    try:
        filter = <filter_config_t*>calloc(1, sizeof(filter_config_t))
        if filter == NULL:
            raise MemoryError
        filter.config = config_get(_load_filter_config, raw.data[: raw.length])
    except BaseException as error:
        free(filter)
        _log_refusal("filter", error)
        return NULL
    _define_metrics(envoy, filter)
    if raw.length:
        # The last one built decides for the process; none at all says nothing.
        timers_halt(filter.config.halted)
    return filter


cdef void _config_destroy(const void* module) noexcept nogil:
    cdef filter_config_t* filter = <filter_config_t*>module
    config_release(filter.config)
    free(filter)


cdef const void* _route_config_new(buffer_t name, buffer_t raw) noexcept with gil:
    try:
        return config_get(_load_route_config, raw.data[: raw.length])
    except BaseException as error:
        _log_refusal("route", error)
        return NULL


cdef void _route_config_destroy(const void* module) noexcept nogil:
    config_release(<config_t*>module)


cdef table_t _table
_table.tag = TABLE_TAG
_table.size = sizeof(table_t)
_table.config_new = _config_new
_table.config_destroy = _config_destroy
_table.route_config_new = _route_config_new
_table.route_config_destroy = _route_config_destroy
_table.filter_new = _filter_new
_table.filter_destroy = _filter_destroy
_table.request_headers = _request_headers
_table.request_body = _request_body
_table.request_trailers = _request_trailers
_table.response_headers = _response_headers
_table.response_body = _response_body
_table.response_trailers = _response_trailers
_table.scheduled = _scheduled
_table.local_reply = _local_reply
_table.client_paused = _client_paused
_table.client_resumed = _client_resumed


def hooks(load_filter_config, load_route_config):
    """Return the capsule with the table of hooks, bound to the profile language that validates configurations."""
    global _load_filter_config, _load_route_config
    _load_filter_config = load_filter_config
    _load_route_config = load_route_config
    return PyCapsule_New(&_table, TABLE_CAPSULE, NULL)
