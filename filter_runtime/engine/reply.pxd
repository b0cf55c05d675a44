# A forced status as Envoy's local reply.

from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from filter_runtime.engine.abi cimport REQUEST_HEADERS, buffer_t, get_header, send_response, text
from filter_runtime.engine.behavior cimport entry_t, header_t
from filter_runtime.engine.headers cimport fields_t
from filter_runtime.engine.stream cimport stream_t

cdef enum:
    ON_STACK = 32  # headers of a reply that need no allocation
    GRPC_MESSAGE = 1024  # bytes of a body that make the message: it travels as a header

cdef inline const entry_t* entry_of(const stream_t* stream) noexcept nogil:
    """Return the response entry that was drawn."""
    return stream.rule.behavior.entries + stream.draw.entry

cdef inline bint is_grpc(void* envoy) noexcept nogil:
    """Whether the request's content-type is application/grpc, +proto and parameters included."""
    cdef buffer_t value
    if not get_header(envoy, REQUEST_HEADERS, text(b"content-type", 12), &value, 0, NULL) or value.length < 16:
        return False
    if memcmp(value.data, b"application/grpc", 16) != 0:
        return False
    return value.length == 16 or value.data[16] == c"+" or value.data[16] == c";"

cdef inline buffer_t grpc_message(const entry_t* entry) noexcept nogil:
    """Return the body as a gRPC message: its beginning, without the newline that ends a text."""
    cdef buffer_t message = text(entry.reply.body, entry.reply.body_length)
    if message.length > GRPC_MESSAGE:
        message.length = GRPC_MESSAGE
        while message.length and (message.data[message.length] & 0xC0) == 0x80:
            message.length -= 1  # not in the middle of a character
    elif message.length and message.data[message.length - 1] == c"\n":
        message.length -= 1
    return message

cdef inline size_t write_status(char* digits, int status) noexcept nogil:
    """Write a status of up to three digits and return how many."""
    cdef size_t length = 1 if status < 10 else 2 if status < 100 else 3
    cdef size_t i = length
    while i:
        i -= 1
        digits[i] = <char>(48 + status % 10)
        status //= 10
    return length

cdef inline bint send_reply(const stream_t* stream, const fields_t* fields, bint with_fields) noexcept nogil:
    """Answer with the drawn entry; the stream may be gone afterwards. False when there was no memory."""
    cdef const entry_t* entry = entry_of(stream)
    cdef header_t on_stack[ON_STACK]
    cdef header_t* headers = on_stack
    cdef char grpc_status[3]
    cdef buffer_t body = text(entry.reply.body, entry.reply.body_length)
    cdef size_t count = entry.reply.header_count
    if count + fields.count + 1 > ON_STACK:
        headers = <header_t*>malloc((count + fields.count + 1) * sizeof(header_t))
        if headers == NULL:
            return False
    if count:
        memcpy(headers, entry.reply.headers, count * sizeof(header_t))
    if with_fields:
        memcpy(headers + count, fields.items, fields.count * sizeof(header_t))
        count += fields.count
    if is_grpc(stream.envoy):
        body = text(NULL, 0) if entry.reply.grpc_message != NULL else grpc_message(entry)
        if not entry.reply.has_grpc_status:
            headers[count].name = b"grpc-status"
            headers[count].name_length = 11
            headers[count].value = grpc_status
            headers[count].value_length = write_status(grpc_status, entry.grpc_status)
            count += 1
    send_response(stream.envoy, stream.draw.status, headers, count, body, text(b"brownout_fault_injected", 23))
    if headers != on_stack:
        free(headers)
    return True
