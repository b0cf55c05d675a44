# cython: cdivision=True
# The stateful mode: every cycle of n draws serves each of the n samples once, in an order of its own.
#
# The k-th sample is the value at the quantile (k + 1/2) / n. What a draw takes is an index of the cycle; the
# cycle's key turns it into a sample. All workers take from one cycle and nobody waits: the indices are dealt
# to lanes (index = lane + lanes * number), each with a counter of its own on a cache line of its own, and a
# worker stays on a lane until that is used up or another worker is met there. The next cycle opens when every
# lane is used up, never before: so after any number of draws, from any number of workers, all cycles but the
# last have been served whole and the last without a repetition.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from filter_runtime.engine.atomic cimport advance_if, load, load_acquire
from filter_runtime.engine.permutation cimport order_t, permute
from filter_runtime.engine.rng cimport rng_t

cdef enum:
    LANE_BITS = 3  # eight lanes
    LANED_SIZE = 64  # smaller cycles have one lane: they would spend their time changing it

cdef struct lane_t:
    uint64_t served  # atomic; how many indices this lane has handed out since the first cycle
    char _end[56]

# One response entry's place in its cycles.
cdef struct place_t:
    uint64_t cycle  # atomic; the cycle that is open
    uint64_t secret[2]  # with the cycle's number, its key
    lane_t* lanes
    char _end[32]

cdef inline uint32_t lane_bits_for(uint64_t size, bint seeded) noexcept nogil:
    """Return the binary logarithm of a cycle's lanes; a seeded cycle has one, so that its order is fixed."""
    return LANE_BITS if size >= LANED_SIZE and not seeded else 0

cdef inline uint64_t take_index(const order_t* order, place_t* place, rng_t* rng, uint64_t* cycle) noexcept nogil:
    """Take the next index for this worker, and say of which cycle.

    A lane's counter counts through all cycles, so a worker that looks with an outdated cycle finds it used up
    and never takes what belongs to a later one.
    """
    cdef uint32_t last = (<uint32_t>1 << order.lane_bits) - 1
    cdef uint32_t lane = rng.lane & last, used_up
    cdef uint64_t size, served, number, open
    while True:
        open = load_acquire(&place.cycle)
        used_up = 0
        while used_up <= last:
            size = (order.size + last - lane) >> order.lane_bits
            served = load(&place.lanes[lane].served)
            number = served - open * size
            if number >= size:
                used_up += 1
            elif advance_if(&place.lanes[lane].served, served):
                rng.lane = lane
                cycle[0] = open
                return (number << order.lane_bits) + lane
            else:
                used_up = 0
            lane = (lane + 1) & last
        advance_if(&place.cycle, open)

cdef inline uint64_t sample_at(const order_t* order, const place_t* place, uint64_t cycle, uint64_t index) noexcept nogil:
    """Return the sample, in [0, n), that `index` of `cycle` stands for."""
    cdef uint64_t key = (place.secret[0] ^ cycle) * (place.secret[1] | 1)
    return permute(order, key ^ (key >> 32), index)

cdef inline double next_quantile(const order_t* order, place_t* place, rng_t* rng) noexcept nogil:
    """Take the next index and return its sample's quantile."""
    cdef uint64_t cycle
    cdef uint64_t index = take_index(order, place, rng, &cycle)
    return (<double><int64_t>sample_at(order, place, cycle, index) + 0.5) * order.step
