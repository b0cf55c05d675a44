# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled engine: what Envoy runs, and what tests, previews and simulations call from Python.

One concept a file in `engine/`: declarations and what is inlined in .pxd; the rest, which needs all of them, in .pxi:
what Envoy calls on the request path (without the GIL), configurations and Python's side (with it).
"""

from collections import namedtuple
from hashlib import blake2b

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from posix.time cimport CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, clock_gettime, clockid_t, timespec

from filter_runtime.engine.atomic cimport CACHE_LINES, load_signed, references_add, references_count
from filter_runtime.engine.behavior cimport (
    behavior_release, behavior_retain, behavior_t, entry_t, grpc_status, header_t
)
from filter_runtime.engine.cycle cimport lane_bits_for, next_quantile
from filter_runtime.engine.draw cimport draw, draw_t
from filter_runtime.engine.gotime cimport DURATION_SIZE, format_duration
from filter_runtime.engine.load cimport load_t
from filter_runtime.engine.permutation cimport order_for, order_t, permute
from filter_runtime.engine.quantiles cimport curve_t, knot_t, latency_at, to_nanoseconds
from filter_runtime.engine.rng cimport next_word, rng_seed, rng_t, unit
from filter_runtime.engine.state cimport (
    endpoint_release, endpoint_t, in_flight_enter, in_flight_leave, state_init, state_release, state_retain, state_size,
    state_t
)
from filter_runtime.engine.weights cimport pick, tier_t

cdef extern from "stdlib.h" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

include "engine/shape.pxi"
include "engine/compile.pxi"
include "engine/behaviors.pxi"
include "engine/registry.pxi"
include "engine/pysampler.pxi"
include "engine/measure.pxi"
include "engine/envoy.pxi"
