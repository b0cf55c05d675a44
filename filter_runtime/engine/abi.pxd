# Envoy's side: the callbacks that the filter uses, and the enumerators that cross the boundary.
#
# Facts of Envoy's dynamic module ABI v0.2.0; the same declarations hold for 1.38, 1.39 and 1.40. The symbols are
# weak: a plain Python imports the same engine, and there they are NULL. `envoy` is Envoy's filter object, valid from
# filter_new until filter_destroy. Buffers that Envoy hands out are valid until the hook ends or a setter is called.

from libc.stdint cimport uint32_t, uint64_t

from filter_runtime.engine.behavior cimport header_t

cdef extern from "<stdbool.h>":
    ctypedef bint c_bool "bool"

cdef extern from "table.h":
    ctypedef struct buffer_t "brownout_buffer":
        const char* data
        size_t length

    ctypedef struct table_t "brownout_table":
        uint32_t tag
        uint32_t size
        const void* (*config_new)(void*, buffer_t, buffer_t) noexcept nogil
        void (*config_destroy)(const void*) noexcept nogil
        const void* (*route_config_new)(buffer_t, buffer_t) noexcept nogil
        void (*route_config_destroy)(const void*) noexcept nogil
        const void* (*filter_new)(const void*, void*) noexcept nogil
        void (*filter_destroy)(const void*) noexcept nogil
        int (*request_headers)(void*, const void*, c_bool) noexcept nogil
        int (*request_body)(void*, const void*, c_bool) noexcept nogil
        int (*request_trailers)(void*, const void*) noexcept nogil
        int (*response_headers)(void*, const void*, c_bool) noexcept nogil
        int (*response_body)(void*, const void*, c_bool) noexcept nogil
        int (*response_trailers)(void*, const void*) noexcept nogil
        void (*scheduled)(void*, const void*, uint64_t) noexcept nogil
        void (*local_reply)(void*, const void*) noexcept nogil
        void (*client_paused)(void*, const void*) noexcept nogil
        void (*client_resumed)(void*, const void*) noexcept nogil

    enum:
        TABLE_TAG "BROWNOUT_TABLE_TAG"
    const char* TABLE_CAPSULE "BROWNOUT_TABLE_CAPSULE"

cdef extern from *:
    """
    #define ENVOY(type, name) extern type __attribute__((weak)) envoy_dynamic_module_callback_##name
    #define ENVOY_TEXT brownout_buffer

    ENVOY(void, log)(int level, ENVOY_TEXT message);
    ENVOY(bool, http_get_header)(void *envoy, int type, ENVOY_TEXT key, ENVOY_TEXT *value, size_t index,
                                       size_t *count);
    ENVOY(size_t, http_get_headers_size)(void *envoy, int type);
    ENVOY(bool, http_get_headers)(void *envoy, int type, void *headers);
    ENVOY(bool, http_add_header)(void *envoy, int type, ENVOY_TEXT key, ENVOY_TEXT value);
    ENVOY(bool, http_set_header)(void *envoy, int type, ENVOY_TEXT key, ENVOY_TEXT value);
    ENVOY(void, http_send_response)(void *envoy, uint32_t status, void *headers, size_t count, ENVOY_TEXT body,
                                          ENVOY_TEXT details);
    ENVOY(size_t, http_get_body_size)(void *envoy, int type);
    ENVOY(bool, http_append_body)(void *envoy, int type, ENVOY_TEXT data);
    ENVOY(bool, http_drain_body)(void *envoy, int type, size_t length);
    ENVOY(size_t, http_get_body_chunks_size)(void *envoy, int type);
    ENVOY(bool, http_get_body_chunks)(void *envoy, int type, ENVOY_TEXT *chunks);
    ENVOY(uint64_t, http_get_buffer_limit)(void *envoy);
    ENVOY(void, http_set_buffer_limit)(void *envoy, uint64_t limit);
    ENVOY(void, http_filter_continue_encoding)(void *envoy);
    ENVOY(bool, http_set_filter_state_bytes)(void *envoy, ENVOY_TEXT key, ENVOY_TEXT value);
    ENVOY(bool, http_get_filter_state_bytes)(void *envoy, ENVOY_TEXT key, ENVOY_TEXT *value);
    ENVOY(void, http_filter_reset_stream)(void *envoy, int reason, ENVOY_TEXT details);
    ENVOY(bool, http_filter_get_attribute_string)(void *envoy, int attribute, ENVOY_TEXT *value);
    ENVOY(bool, http_filter_get_attribute_int)(void *envoy, int attribute, uint64_t *value);
    ENVOY(void *, http_filter_scheduler_new)(void *envoy);
    ENVOY(void, http_filter_scheduler_commit)(void *scheduler, uint64_t event);
    ENVOY(void, http_filter_scheduler_delete)(void *scheduler);
    ENVOY(const void *, get_most_specific_route_config)(void *envoy);
    ENVOY(uint32_t, http_filter_get_worker_index)(void *envoy);
    ENVOY(int, http_filter_config_define_counter)(void *config, ENVOY_TEXT name, void *labels, size_t count,
                                                        size_t *id);
    ENVOY(int, http_filter_config_define_gauge)(void *config, ENVOY_TEXT name, void *labels, size_t count,
                                                      size_t *id);
    ENVOY(int, http_filter_config_define_histogram)(void *config, ENVOY_TEXT name, void *labels, size_t count,
                                                          size_t *id);
    ENVOY(int, http_filter_increment_counter)(void *envoy, size_t id, void *labels, size_t count, uint64_t by);
    ENVOY(int, http_filter_increment_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by);
    ENVOY(int, http_filter_decrement_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by);
    ENVOY(int, http_filter_record_histogram_value)(void *envoy, size_t id, void *labels, size_t count,
                                                         uint64_t value);
    ENVOY(void *, http_get_active_span)(void *envoy);
    ENVOY(void, http_span_set_tag)(void *span, ENVOY_TEXT key, ENVOY_TEXT value);
    /* Came with Envoy 1.39, and with it the attribute UPSTREAM_ATTEMPT. */
    ENVOY(bool, http_get_upstream_connection_id)(void);
    static inline int brownout_knows_attempts(void) {
        return envoy_dynamic_module_callback_http_get_upstream_connection_id != NULL;
    }
    """
    bint knows_attempts "brownout_knows_attempts"() noexcept nogil
    bint set_filter_state "envoy_dynamic_module_callback_http_set_filter_state_bytes"(
        void*, buffer_t, buffer_t) noexcept nogil
    bint get_filter_state "envoy_dynamic_module_callback_http_get_filter_state_bytes"(
        void*, buffer_t, buffer_t*) noexcept nogil
    void envoy_log "envoy_dynamic_module_callback_log"(int, buffer_t) noexcept nogil
    bint get_header "envoy_dynamic_module_callback_http_get_header"(
        void*, int, buffer_t, buffer_t*, size_t, size_t*) noexcept nogil
    size_t get_headers_size "envoy_dynamic_module_callback_http_get_headers_size"(void*, int) noexcept nogil
    bint get_headers "envoy_dynamic_module_callback_http_get_headers"(void*, int, header_t*) noexcept nogil
    bint add_header "envoy_dynamic_module_callback_http_add_header"(void*, int, buffer_t, buffer_t) noexcept nogil
    bint set_header "envoy_dynamic_module_callback_http_set_header"(void*, int, buffer_t, buffer_t) noexcept nogil
    void send_response "envoy_dynamic_module_callback_http_send_response"(
        void*, uint32_t, header_t*, size_t, buffer_t, buffer_t) noexcept nogil
    size_t get_body_size "envoy_dynamic_module_callback_http_get_body_size"(void*, int) noexcept nogil
    bint append_body "envoy_dynamic_module_callback_http_append_body"(void*, int, buffer_t) noexcept nogil
    bint drain_body "envoy_dynamic_module_callback_http_drain_body"(void*, int, size_t) noexcept nogil
    size_t get_chunk_count "envoy_dynamic_module_callback_http_get_body_chunks_size"(void*, int) noexcept nogil
    bint get_chunks "envoy_dynamic_module_callback_http_get_body_chunks"(void*, int, buffer_t*) noexcept nogil
    uint64_t get_buffer_limit "envoy_dynamic_module_callback_http_get_buffer_limit"(void*) noexcept nogil
    void set_buffer_limit "envoy_dynamic_module_callback_http_set_buffer_limit"(void*, uint64_t) noexcept nogil
    void continue_encoding "envoy_dynamic_module_callback_http_filter_continue_encoding"(void*) noexcept nogil
    void reset_stream "envoy_dynamic_module_callback_http_filter_reset_stream"(void*, int, buffer_t) noexcept nogil
    bint get_attribute "envoy_dynamic_module_callback_http_filter_get_attribute_string"(
        void*, int, buffer_t*) noexcept nogil
    bint get_number "envoy_dynamic_module_callback_http_filter_get_attribute_int"(void*, int, uint64_t*) noexcept nogil
    void* scheduler_new "envoy_dynamic_module_callback_http_filter_scheduler_new"(void*) noexcept nogil
    void scheduler_commit "envoy_dynamic_module_callback_http_filter_scheduler_commit"(void*, uint64_t) noexcept nogil
    void scheduler_delete "envoy_dynamic_module_callback_http_filter_scheduler_delete"(void*) noexcept nogil
    const void* route_config "envoy_dynamic_module_callback_get_most_specific_route_config"(void*) noexcept nogil
    uint32_t worker_index "envoy_dynamic_module_callback_http_filter_get_worker_index"(void*) noexcept nogil
    int define_counter "envoy_dynamic_module_callback_http_filter_config_define_counter"(
        void*, buffer_t, void*, size_t, size_t*) noexcept nogil
    int define_gauge "envoy_dynamic_module_callback_http_filter_config_define_gauge"(
        void*, buffer_t, void*, size_t, size_t*) noexcept nogil
    int define_histogram "envoy_dynamic_module_callback_http_filter_config_define_histogram"(
        void*, buffer_t, void*, size_t, size_t*) noexcept nogil
    int increment_counter "envoy_dynamic_module_callback_http_filter_increment_counter"(
        void*, size_t, void*, size_t, uint64_t) noexcept nogil
    int increment_gauge "envoy_dynamic_module_callback_http_filter_increment_gauge"(
        void*, size_t, void*, size_t, uint64_t) noexcept nogil
    int decrement_gauge "envoy_dynamic_module_callback_http_filter_decrement_gauge"(
        void*, size_t, void*, size_t, uint64_t) noexcept nogil
    int record_histogram "envoy_dynamic_module_callback_http_filter_record_histogram_value"(
        void*, size_t, void*, size_t, uint64_t) noexcept nogil
    void* active_span "envoy_dynamic_module_callback_http_get_active_span"(void*) noexcept nogil
    void span_set_tag "envoy_dynamic_module_callback_http_span_set_tag"(void*, buffer_t, buffer_t) noexcept nogil

cdef enum:
    LOG_INFO = 2
    LOG_ERROR = 4

# Header maps.
cdef enum:
    REQUEST_HEADERS = 0
    RESPONSE_HEADERS = 2
    RESPONSE_TRAILERS = 3

# Bodies: the chunk that a body hook was called for, and what is buffered.
cdef enum:
    RECEIVED_RESPONSE_BODY = 2
    BUFFERED_RESPONSE_BODY = 3

# Attributes: a quarter of the cost of a header.
cdef enum:
    REQUEST_HOST = 2
    REQUEST_METHOD = 4
    CONNECTION_ID = 28  # a number; the client's
    UPSTREAM_ADDRESS = 41  # there once a host was chosen: in a cluster's filters always, before the router never
    UPSTREAM_ATTEMPT = 53  # a number, 0 before the router; since Envoy 1.39

# How a stream is reset: refused is a failure of the upstream's; the other would end the whole request.
cdef enum:
    RESET_REFUSED = 1

# What a hook returns. STOP_AND_KEEP and STOP_AND_DROP are for a body; with the first the sender is paused once Envoy's
# buffers are full.
cdef enum:
    CONTINUE = 0
    STOP = 1
    STOP_AND_KEEP = 2
    STOP_AND_DROP = 3

cdef inline buffer_t text(const char* data, size_t length) noexcept nogil:
    cdef buffer_t buffer
    buffer.data = data
    buffer.length = length
    return buffer
