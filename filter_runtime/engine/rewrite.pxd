# The upstream's own response becomes the drawn one inside the filter: in the cluster, so that Envoy's retries, outlier
# detection and cluster statistics take it for the upstream's (`override: upstream_response`); in the connection manager,
# so that the other filters see it as they see any response.
#
# In the hook of the headers, the new body goes whole into the first chunk of the old one, and the rest is drained. Later
# what is kept is dropped and the new body takes its place, as that of a response without a body.

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from filter_runtime.engine.abi cimport (
    BUFFERED_RESPONSE_BODY,
    CONTINUE,
    RECEIVED_RESPONSE_BODY,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    RESPONSE_TRAILERS,
    append_body,
    buffer_t,
    drain_body,
    get_body_size,
    get_buffer_limit,
    get_header,
    get_headers,
    get_headers_size,
    set_buffer_limit,
    set_header,
    add_header,
    text,
)
from filter_runtime.engine.behavior cimport entry_t, header_t
from filter_runtime.engine.headers cimport add_to_response, fields_t
from filter_runtime.engine.requests cimport has_rival, manager_of
from filter_runtime.engine.reply cimport GRPC_MESSAGE, entry_of, grpc_message, is_grpc, write_status
from filter_runtime.engine.rules cimport RAISE_LIMIT, applies
from filter_runtime.engine.stream cimport IN_CLUSTER, REWRITING, stream_t

# Where in the response it is rewritten.
cdef enum:
    AT_HEADERS  # in the hook of its headers
    AT_END  # in the hook of the piece of its body that is the last
    HELD  # when it is complete, and all of its body is kept

cdef enum:
    ROOM = 4096

cdef inline bint _is_head(void* envoy) noexcept nogil:
    cdef buffer_t method
    return get_header(envoy, REQUEST_HEADERS, text(b":method", 7), &method, 0, NULL) and (
        method.length == 4 and memcmp(method.data, b"HEAD", 4) == 0
    )

cdef inline bint _bodyless(int status) noexcept nogil:
    return status == 204 or status == 304

cdef inline bint clear_map(void* envoy, int map) noexcept nogil:
    """Remove all but the pseudo-headers of a header map. False when there was no memory."""
    cdef size_t count = get_headers_size(envoy, map)
    cdef header_t* headers
    cdef char* names
    cdef size_t total = 0, i
    if not count:
        return True
    headers = <header_t*>malloc(count * sizeof(header_t))
    if headers == NULL:
        return False
    get_headers(envoy, map, headers)
    for i in range(count):
        total += headers[i].name_length
    names = <char*>malloc(total)  # removing one invalidates what Envoy handed out
    if names == NULL:
        free(headers)
        return False
    total = 0
    for i in range(count):
        memcpy(names + total, headers[i].name, headers[i].name_length)
        headers[i].name = names + total
        total += headers[i].name_length
    for i in range(count):
        if headers[i].name[0] != c":":
            set_header(envoy, map, text(headers[i].name, headers[i].name_length), text(NULL, 0))
    free(names)
    free(headers)
    return True

cdef inline void _set_number(void* envoy, int map, const char* name, size_t length, uint64_t value) noexcept nogil:
    cdef char digits[20]
    cdef char* at = digits + 20
    while True:
        at -= 1
        at[0] = <char>(48 + value % 10)
        value //= 10
        if value == 0:
            break
    set_header(envoy, map, text(name, length), text(at, digits + 20 - at))

# A message is percent-encoded: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
cdef inline size_t _percent_encode(char* out, buffer_t message) noexcept nogil:
    cdef const char* digits = b"0123456789ABCDEF"
    cdef size_t used = 0, i
    cdef unsigned char byte
    for i in range(message.length):
        byte = <unsigned char>message.data[i]
        if 0x20 <= byte <= 0x7E and byte != c"%":
            out[used] = <char>byte
            used += 1
        else:
            out[used] = c"%"
            out[used + 1] = digits[byte >> 4]
            out[used + 2] = digits[byte & 15]
            used += 3
    return used

cdef inline void _set_grpc(void* envoy, int map, const entry_t* entry) noexcept nogil:
    cdef char encoded[3 * GRPC_MESSAGE]
    cdef const header_t* own = entry.reply.grpc_message
    cdef size_t length
    _set_number(envoy, map, b"grpc-status", 11, entry.grpc_status)
    if own != NULL:
        set_header(envoy, map, text(b"grpc-message", 12), text(own.value, own.value_length))
        return
    length = _percent_encode(encoded, grpc_message(entry))
    if length:
        set_header(envoy, map, text(b"grpc-message", 12), text(encoded, length))

# Beyond its limit Envoy would pause an upstream stream that may be gone by now, and crash. (A limit of 0 is none.)
cdef inline void _append(void* envoy, int where, buffer_t body) noexcept nogil:
    cdef uint64_t limit = get_buffer_limit(envoy)
    if limit and limit < body.length + ROOM and applies(RAISE_LIMIT):
        set_buffer_limit(envoy, body.length + ROOM)
    append_body(envoy, where, body)

cdef inline void rewrite_trailers(stream_t* stream) noexcept nogil:
    """Remove the trailers, except that gRPC needs its own; the body hook saw no end of the stream."""
    clear_map(stream.envoy, RESPONSE_TRAILERS)
    if stream.new_trailers:
        _set_grpc(stream.envoy, RESPONSE_TRAILERS, entry_of(stream))
    if stream.new_body.length:
        _append(stream.envoy, BUFFERED_RESPONSE_BODY, stream.new_body)
        stream.new_body.length = 0

cdef inline bint rewrite_headers(stream_t* stream, const fields_t* fields, int stage) noexcept nogil:
    """Turn the upstream's headers into the drawn ones. False when nothing was changed for want of memory.

    What is left for the body and trailers hooks is the stream's phase and `new_body`.
    """
    cdef void* envoy = stream.envoy
    cdef const entry_t* entry = entry_of(stream)
    cdef bint grpc = is_grpc(envoy)
    cdef bint body_expected = not _bodyless(entry.status) and not grpc
    cdef size_t length = entry.reply.body_length
    if stream.response_ended and has_rival(stream):
        length = 0  # headers alone may be given up for another attempt
    if not clear_map(envoy, RESPONSE_HEADERS):
        return False
    _set_number(envoy, RESPONSE_HEADERS, b":status", 7, 200 if grpc else entry.status)
    _add_own_headers(envoy, entry)
    if grpc:
        _set_grpc_headers(stream, entry)
    elif body_expected:
        _set_number(envoy, RESPONSE_HEADERS, b"content-length", 14, length)
        if entry.reply.body_length and not entry.reply.has_content_type:
            set_header(envoy, RESPONSE_HEADERS, text(b"content-type", 12), text(b"text/plain", 10))
    if stream.rule.headers:
        add_to_response(fields, envoy)
    if body_expected and not _is_head(envoy):
        stream.new_body = text(entry.reply.body, length)
    stream.new_trailers = grpc
    if stage != AT_HEADERS:
        drain_body(envoy, BUFFERED_RESPONSE_BODY, get_body_size(envoy, BUFFERED_RESPONSE_BODY))
    if not stream.complete:
        stream.phase = REWRITING
    if stage == AT_END:
        rewrite_body(stream)
    elif stream.has_trailers:
        rewrite_trailers(stream)
    elif stream.new_body.length and (stage == HELD or stream.response_ended):
        _append(envoy, BUFFERED_RESPONSE_BODY, stream.new_body)
        stream.new_body.length = 0
    return True

cdef inline void _add_own_headers(void* envoy, const entry_t* entry) noexcept nogil:
    cdef const header_t* header
    cdef size_t i
    for i in range(entry.reply.header_count):
        header = entry.reply.headers + i
        add_header(
            envoy, RESPONSE_HEADERS, text(header.name, header.name_length), text(header.value, header.value_length)
        )

# The status belongs into the trailers, when there are any; the router looks for it in the headers.
cdef inline void _set_grpc_headers(stream_t* stream, const entry_t* entry) noexcept nogil:
    cdef void* envoy = stream.envoy
    cdef stream_t* manager
    set_header(envoy, RESPONSE_HEADERS, text(b"content-type", 12), text(b"application/grpc", 16))
    if stream.response_ended:
        _set_grpc(envoy, RESPONSE_HEADERS, entry)
    elif stream.place == IN_CLUSTER:
        _set_grpc(envoy, RESPONSE_HEADERS, entry)
        manager = manager_of(stream)
        if manager != NULL:
            manager.assist.rewritten_grpc = True

cdef inline void rewrite_body(stream_t* stream) noexcept nogil:
    """Replace a chunk: the first by the new body, the others by nothing."""
    drain_body(stream.envoy, RECEIVED_RESPONSE_BODY, get_body_size(stream.envoy, RECEIVED_RESPONSE_BODY))
    if stream.new_body.length:
        _append(stream.envoy, RECEIVED_RESPONSE_BODY, stream.new_body)
        stream.new_body.length = 0
