# A compiled configuration: what the filter does with a request, as plain memory.
#
# Built under the GIL (configs.pxi), used and freed without it on any thread: a stream keeps the configuration that it
# started with. The references share one weak one; the cache holds another, which keeps the memory but not the content.

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp

from filter_runtime.engine.abi cimport REQUEST_HEADERS, buffer_t, get_header, text
from filter_runtime.engine.atomic cimport references_add, references_drop
from filter_runtime.engine.behavior cimport behavior_release, behavior_t
from filter_runtime.engine.state cimport state_release, state_t
from filter_runtime.engine.sync cimport read_word, replace_word

# One of `match.headers[]`; an absent `value.data` asks for presence only.
cdef struct condition_t:
    buffer_t name
    buffer_t value

cdef struct match_t:
    buffer_t prefix  # of the whole path; absent when data is NULL, as `exact`
    buffer_t exact  # the path without its query
    size_t condition_count
    condition_t* conditions

# One entry of `endpoints[]`, or the direct shape.
cdef struct rule_t:
    match_t match
    behavior_t* behavior
    state_t* state
    double share  # percent / 100
    int64_t expires_at  # CLOCK_REALTIME, INT64_MAX for never
    buffer_t label
    bint headers  # whether to add the x-fault-* headers

cdef struct config_t:
    int64_t references
    int64_t weak_references
    bint halted  # filter level only: nothing is injected in this process
    size_t rule_count
    rule_t* rules

cdef inline void config_forget(config_t* config) noexcept nogil:
    """Drop a weak reference."""
    if references_drop(&config.weak_references):
        free(config)

cdef inline void config_retain(config_t* config) noexcept nogil:
    references_add(&config.references)

cdef inline void config_release(config_t* config) noexcept nogil:
    cdef size_t i
    if not references_drop(&config.references):
        return
    for i in range(config.rule_count):
        state_release(config.rules[i].state)
        behavior_release(config.rules[i].behavior)
    config_forget(config)

cdef inline bint config_revive(config_t* config) noexcept nogil:
    """Turn a weak reference into a further real one, unless the last real one is gone."""
    cdef int64_t count = read_word(&config.references)
    while count > 0:
        if replace_word(&config.references, count, count + 1):
            return True
        count = read_word(&config.references)
    return False

cdef inline bint _equal(buffer_t a, buffer_t b) noexcept nogil:
    return a.length == b.length and memcmp(a.data, b.data, a.length) == 0

cdef inline bint _holds(const condition_t* condition, void* envoy) noexcept nogil:
    cdef buffer_t value
    cdef size_t index = 0, count = 0
    if not get_header(envoy, REQUEST_HEADERS, condition.name, &value, 0, &count):
        return False
    if condition.value.data == NULL:
        return True
    while not _equal(value, condition.value):
        index += 1
        if index >= count or not get_header(envoy, REQUEST_HEADERS, condition.name, &value, index, NULL):
            return False
    return True

cdef inline bint _matches(const match_t* match, void* envoy, buffer_t path) noexcept nogil:
    cdef const void* query
    cdef buffer_t bare = path
    cdef size_t i
    if match.prefix.data != NULL and (
        path.length < match.prefix.length or memcmp(path.data, match.prefix.data, match.prefix.length) != 0
    ):
        return False
    if match.exact.data != NULL:
        query = memchr(path.data, c"?", path.length)
        if query != NULL:
            bare.length = <const char*>query - path.data
        if not _equal(bare, match.exact):
            return False
    for i in range(match.condition_count):
        if not _holds(match.conditions + i, envoy):
            return False
    return True

cdef inline rule_t* first_match(const config_t* config, void* envoy) noexcept nogil:
    """Return the first rule that matches the request, or NULL."""
    cdef buffer_t path = text(b"", 0)
    cdef rule_t* rule
    cdef size_t i
    cdef bint read = False
    for i in range(config.rule_count):
        rule = config.rules + i
        if rule.match.prefix.data != NULL or rule.match.exact.data != NULL:
            if not read:
                read = True
                if not get_header(envoy, REQUEST_HEADERS, text(b":path", 5), &path, 0, NULL):
                    path = text(b"", 0)
        elif rule.match.condition_count == 0:
            return rule
        if _matches(&rule.match, envoy, path):
            return rule
    return NULL
