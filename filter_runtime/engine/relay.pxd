# An upstream's response as a reply of Envoy's own: see hold.pxi for when.

from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from filter_runtime.engine.abi cimport (
    BUFFERED_RESPONSE_BODY,
    RESPONSE_HEADERS,
    buffer_t,
    get_body_size,
    get_chunk_count,
    get_chunks,
    get_headers,
    get_headers_size,
    send_response,
    text,
)
from filter_runtime.engine.behavior cimport header_t
from filter_runtime.engine.headers cimport number_in

# Envoy calculates the length of a body; without one (HEAD, 304) the header says that of another.
cdef inline bint _goes_along(const header_t* header, size_t body_size) noexcept nogil:
    return header.name[0] != c":" and not (
        body_size and header.name_length == 14 and memcmp(header.name, b"content-length", 14) == 0
    )

cdef inline const char* _copied(char** to, const char* source, size_t length) noexcept nogil:
    cdef const char* copy = to[0]
    if length:
        memcpy(to[0], source, length)
    to[0] += length
    return copy

cdef inline bint relay(void* envoy) noexcept nogil:
    """Answer with the response's headers and its body as far as it is buffered. False when there was no memory.

    The stream may be gone afterwards.
    """
    cdef size_t count = get_headers_size(envoy, RESPONSE_HEADERS)
    cdef size_t chunk_count = get_chunk_count(envoy, BUFFERED_RESPONSE_BODY)
    cdef size_t body_size = get_body_size(envoy, BUFFERED_RESPONSE_BODY)
    cdef size_t tables = count * sizeof(header_t) + chunk_count * sizeof(buffer_t)
    cdef size_t texts = 0, kept = 0, i
    cdef int status = 0
    cdef header_t* headers = <header_t*>malloc(tables + 1)
    cdef buffer_t* chunks = <buffer_t*>(headers + count)
    cdef char* copies
    cdef char* at
    if headers == NULL:
        return False
    get_headers(envoy, RESPONSE_HEADERS, headers)
    get_chunks(envoy, BUFFERED_RESPONSE_BODY, chunks)
    for i in range(count):
        texts += headers[i].name_length + headers[i].value_length
    copies = <char*>malloc(texts + body_size + 1)  # the reply ends what Envoy handed out
    if copies == NULL:
        free(headers)
        return False
    at = copies
    for i in range(chunk_count):
        _copied(&at, chunks[i].data, chunks[i].length)
    for i in range(count):
        if _goes_along(headers + i, body_size):
            headers[kept].name_length = headers[i].name_length
            headers[kept].name = _copied(&at, headers[i].name, headers[i].name_length)
            headers[kept].value_length = headers[i].value_length
            headers[kept].value = _copied(&at, headers[i].value, headers[i].value_length)
            kept += 1
        elif headers[i].name_length == 7 and memcmp(headers[i].name, b":status", 7) == 0:
            status = number_in(headers[i].value, headers[i].value_length)
    send_response(envoy, status, headers, kept, text(copies, body_size), text(b"brownout_relayed", 16))
    free(copies)
    free(headers)
    return True
