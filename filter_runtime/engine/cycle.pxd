# The stateful mode: every cycle of n draws serves each of the n samples once, in an order of its own.
#
# The k-th sample is the value at the quantile (k + 1/2) / n. A draw takes the next number of a counter, which
# all workers share; the number says which cycle and which place in it, so that no two draws can meet.

from libc.stdint cimport uint64_t

from filter_runtime.engine.atomic cimport fetch_add
from filter_runtime.engine.permutation cimport order_t, permute
from filter_runtime.engine.rng cimport mix, multiply_high
from filter_runtime.engine.state cimport place_t

cdef inline uint64_t sample_at(const order_t* order, const uint64_t* secret, uint64_t number) noexcept nogil:
    """Return the sample, in [0, n), that draw `number` serves."""
    cdef uint64_t low
    cdef uint64_t cycle = multiply_high(number, order.reciprocal, &low)  # exact or one too few
    cdef uint64_t index = number - cycle * order.size
    if index >= order.size:
        index -= order.size
        cycle += 1
    return permute(order, mix(secret[0] ^ cycle) ^ secret[1], index)

cdef inline double next_quantile(const order_t* order, place_t* place) noexcept nogil:
    """Take the next place in the cycle and return its sample's quantile."""
    return (<double>sample_at(order, place.secret, fetch_add(&place.drawn, 1)) + 0.5) * order.step
