# Envoy's statistics of the filter: `cluster.<cluster>.brownout.<name>` in a cluster, `brownout.<name>` in a connection
# manager.
#
# Metrics belong to one filter configuration of Envoy's (a cluster's, or a connection manager's), which defines them
# when it is built; routes' configurations use those of the filter that runs them. Unlabelled: a labelled increment
# costs 25 times as much.

from libc.stdint cimport int64_t, uint64_t

from filter_runtime.engine.abi cimport (
    buffer_t,
    decrement_gauge,
    define_counter,
    define_gauge,
    define_histogram,
    increment_counter,
    increment_gauge,
    record_histogram,
)
from filter_runtime.engine.rule cimport config_t

cdef enum:
    STATUS_CLASSES = 4  # 2xx to 5xx

# Counters: one per status class each.
cdef enum:
    INJECTED  # by the status sent: a status other than the upstream's
    DELAYED  # by the status sent: held for a time
    EXPIRED  # by the upstream's status: passed or let go because the fault had expired
    ERRORS  # by the upstream's status: passed because something failed in the filter
    CLASSED

# Counters: delays that the cluster's filter alone leaves out or cuts short, since Envoy would not survive the hold.
cdef enum:
    SKIPPED_EARLY  # the upstream answers before the request has ended
    SKIPPED_UPGRADE  # it switches protocols, or accepts a tunnel
    SKIPPED_TRAILERS  # the response ends with trailers
    SKIPPED

cdef struct filter_config_t:
    config_t* config
    size_t by_class[CLASSED][STATUS_CLASSES]
    size_t skipped[SKIPPED]
    size_t relayed  # counter: sent as a reply of Envoy's own, unchanged
    size_t given_up  # counter: reset in favour of another attempt at the request
    size_t released  # counter: let go by a halt
    size_t in_flight  # gauge: matched requests
    size_t held  # gauge: responses on a timer
    size_t target_us  # histogram
    size_t added_us  # histogram

cdef inline void count(void* envoy, size_t metric) noexcept nogil:
    increment_counter(envoy, metric, NULL, 0, 1)

cdef inline void count_class(void* envoy, const filter_config_t* filter, int what, int status) noexcept nogil:
    # What has no class counts in the nearest, a protocol switch (101) with the successes: nothing goes uncounted.
    cdef int status_class = min(max(status // 100 - 2, 0), <int>STATUS_CLASSES - 1)
    increment_counter(envoy, filter.by_class[what][status_class], NULL, 0, 1)

cdef inline void raise_gauge(void* envoy, size_t metric) noexcept nogil:
    increment_gauge(envoy, metric, NULL, 0, 1)

cdef inline void lower_gauge(void* envoy, size_t metric) noexcept nogil:
    decrement_gauge(envoy, metric, NULL, 0, 1)

cdef inline void record_us(void* envoy, size_t metric, int64_t ns) noexcept nogil:
    record_histogram(envoy, metric, NULL, 0, <uint64_t>(ns + 500) // 1000)
