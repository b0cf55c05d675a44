# The x-fault-* fields of one decision: response headers, and the active span's `fault.*` attributes.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from filter_runtime.engine.abi cimport (
    RESPONSE_HEADERS,
    active_span,
    add_header,
    buffer_t,
    get_header,
    get_headers,
    get_headers_size,
    set_header,
    span_set_tag,
    text,
)
from filter_runtime.engine.behavior cimport header_t
from filter_runtime.engine.gotime cimport DURATION_SIZE, format_duration
from filter_runtime.engine.stream cimport stream_t

cdef enum:
    FIELDS = 9  # at most
    PREFIX = 8  # of the names: "x-fault-"
    ON_STACK = 64  # headers of a response that need no allocation

# What marks a response that the connection manager's filter is to hold: a number as MARK_SIZE letters.
cdef enum:
    MARK_LENGTH = 22
    MARK_SIZE = 16

cdef extern from *:
    """
    #include <string.h>
    #define BROWNOUT_MARK "x-brownout-handed-over"
    /* Whether a name that begins with x-fault- is one of ours. */
    static inline int brownout_is_field(const char *name, size_t length) {
        static const char *const names[] = {"injected-delay", "actual-upstream", "added-delay", "requests-in-flight",
                                            "worker-index", "injected", "status", "upstream-status", "profile"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == length - 8 && memcmp(names[i], name + 8, length - 8) == 0)
                return 1;
        return 0;
    }
    """
    const char* MARK "BROWNOUT_MARK"
    bint _is_field "brownout_is_field"(const char* name, size_t length) noexcept nogil

cdef inline void write_mark(uint64_t number, char* letters) noexcept nogil:
    cdef int i
    for i in range(MARK_SIZE):
        letters[i] = <char>(97 + (number >> (4 * i) & 15))

cdef inline void mark_response(void* envoy, uint64_t number) noexcept nogil:
    cdef char letters[MARK_SIZE]
    write_mark(number, letters)
    set_header(envoy, RESPONSE_HEADERS, text(MARK, MARK_LENGTH), text(letters, MARK_SIZE))

cdef inline bint take_mark(void* envoy, uint64_t number) noexcept nogil:
    """Say whether a response has this mark, and remove it."""
    cdef char letters[MARK_SIZE]
    cdef buffer_t value
    if not get_header(envoy, RESPONSE_HEADERS, text(MARK, MARK_LENGTH), &value, 0, NULL):
        return False
    write_mark(number, letters)
    if value.length != MARK_SIZE or memcmp(value.data, letters, MARK_SIZE) != 0:
        return False
    set_header(envoy, RESPONSE_HEADERS, text(MARK, MARK_LENGTH), text(NULL, 0))
    return True

# Values point into `digits`, or into memory that outlives the stream.
cdef struct fields_t:
    size_t count
    header_t items[FIELDS]
    char digits[8 * DURATION_SIZE]
    size_t used

cdef inline void _field(fields_t* fields, const char* name, size_t length, buffer_t value) noexcept nogil:
    cdef header_t* item = fields.items + fields.count
    item.name = name
    item.name_length = length
    item.value = value.data
    item.value_length = value.length
    fields.count += 1

cdef inline buffer_t _duration(fields_t* fields, int64_t ns) noexcept nogil:
    cdef char* at = fields.digits + fields.used
    cdef size_t length = format_duration(ns, at)
    fields.used += length
    return text(at, length)

cdef inline buffer_t _number(fields_t* fields, uint64_t value) noexcept nogil:
    cdef char* start = fields.digits + fields.used
    cdef char* end = start + 20
    cdef char* at = end
    while True:
        at -= 1
        at[0] = <char>(48 + value % 10)
        value //= 10
        if value == 0:
            break
    fields.used += 20
    return text(at, end - at)

cdef inline void describe(fields_t* fields, const stream_t* stream, bint forced) noexcept nogil:
    """Fill in what the seed's table of response headers asks for.

    `forced` says that the sampled status replaces the upstream's.
    """
    fields.count = 0
    fields.used = 0
    _field(fields, b"x-fault-injected-delay", 22, _duration(fields, stream.draw.target_ns))
    _field(fields, b"x-fault-actual-upstream", 23, _duration(fields, stream.elapsed))
    if stream.added > 0:
        _field(fields, b"x-fault-added-delay", 19, _duration(fields, stream.added))
    _field(fields, b"x-fault-requests-in-flight", 26, _number(fields, stream.in_flight))
    if stream.rule.behavior.diagnostic:
        _field(fields, b"x-fault-worker-index", 20, _number(fields, stream.worker))
    if forced:
        if stream.draw.status < 400:
            _field(fields, b"x-fault-injected", 16, text(b"response", 8))
        else:
            _field(fields, b"x-fault-injected", 16, text(b"abort", 5))
    _field(fields, b"x-fault-status", 14, _number(fields, stream.draw.status))
    _field(fields, b"x-fault-upstream-status", 23, _number(fields, stream.upstream_status))
    if stream.rule.label.length:
        _field(fields, b"x-fault-profile", 15, stream.rule.label)

cdef inline const header_t* _field_among(const header_t* headers, size_t count) noexcept nogil:
    cdef size_t i
    for i in range(count):
        if headers[i].name_length > PREFIX and memcmp(headers[i].name, b"x-fault-", PREFIX) == 0:
            if _is_field(headers[i].name, headers[i].name_length):
                return headers + i
    return NULL

cdef inline int number_in(const char* digits, size_t length) noexcept nogil:
    cdef int number = 0
    cdef size_t i
    for i in range(length):
        number = 10 * number + digits[i] - 48
    return number

cdef inline void survey(stream_t* stream) noexcept nogil:
    """Find the upstream's status, and whether its response has fields that have to be dropped.

    One call for all headers costs Envoy as much as one for a single name.
    """
    cdef header_t headers[ON_STACK]
    cdef buffer_t status
    cdef size_t i
    cdef size_t count = get_headers_size(stream.envoy, RESPONSE_HEADERS)
    if count <= ON_STACK and get_headers(stream.envoy, RESPONSE_HEADERS, headers):
        stream.upstream_fields = _field_among(headers, count) != NULL
        for i in range(count):
            if headers[i].name_length == 7 and memcmp(headers[i].name, b":status", 7) == 0:
                stream.upstream_status = number_in(headers[i].value, headers[i].value_length)
                return
    stream.upstream_fields = True
    if get_header(stream.envoy, RESPONSE_HEADERS, text(b":status", 7), &status, 0, NULL):
        stream.upstream_status = number_in(status.data, status.length)

cdef inline void drop_fields(void* envoy) noexcept nogil:
    """Remove what a filter further up says of the response: the fields are this filter's, also those it leaves out."""
    cdef header_t on_stack[ON_STACK]
    cdef header_t* headers = on_stack
    cdef const header_t* found
    cdef size_t count = get_headers_size(envoy, RESPONSE_HEADERS)
    if count > ON_STACK:
        headers = <header_t*>malloc(count * sizeof(header_t))
        if headers == NULL:
            return
    while count and get_headers(envoy, RESPONSE_HEADERS, headers):
        found = _field_among(headers, count)
        if found == NULL:
            break
        set_header(envoy, RESPONSE_HEADERS, text(found.name, found.name_length), text(NULL, 0))
        count = get_headers_size(envoy, RESPONSE_HEADERS)
    if headers != on_stack:
        free(headers)

cdef inline void add_to_response(const fields_t* fields, void* envoy) noexcept nogil:
    cdef const header_t* item
    cdef size_t i
    for i in range(fields.count):
        item = fields.items + i
        add_header(envoy, RESPONSE_HEADERS, text(item.name, item.name_length), text(item.value, item.value_length))

cdef inline void add_to_span(const fields_t* fields, void* envoy) noexcept nogil:
    """Record the fields on the active span, if there is one: `x-fault-status` as `fault.status`."""
    cdef void* span = active_span(envoy)
    cdef char name[48]
    cdef const header_t* item
    cdef size_t i
    if span == NULL:
        return
    memcpy(name, b"fault.", 6)
    for i in range(fields.count):
        item = fields.items + i
        memcpy(name + 6, item.name + PREFIX, item.name_length - PREFIX)
        span_set_tag(span, text(name, item.name_length - 2), text(item.value, item.value_length))
