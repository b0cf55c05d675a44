# The order in which a cycle serves its samples: a keyed permutation of [0, n), computed, never stored.
#
# A bijection on the next power of two (rounds of multiplying by an odd key, adding a key and folding the high
# bits onto the low ones), walked until it lands below n (Black & Rogaway, "Ciphers with Arbitrary Finite
# Domains", 2002): fewer than two steps on average for any n.

from libc.stdint cimport uint32_t, uint64_t

from filter_runtime.engine.rng cimport mix, multiply_high

# What does not depend on the cycle.
cdef struct order_t:
    uint64_t size  # n, 1 or more
    uint64_t reciprocal  # floor(2^64 / n), for n = 1 one less
    uint64_t mask  # the power of two minus one
    uint32_t shift  # half of its bits
    uint32_t rounds
    double step  # 1 / n

cdef inline void order_for(order_t* order, uint64_t size) noexcept nogil:
    cdef uint32_t bits = 1
    while size > (<uint64_t>1 << bits):
        bits += 1
    order.size = size
    order.reciprocal = (<uint64_t>-1) // size
    order.mask = (<uint64_t>1 << bits) - 1
    order.shift = (bits + 1) // 2
    order.rounds = 4
    order.step = 1.0 / <double>size

cdef inline uint64_t permute(const order_t* order, uint64_t key, uint64_t index) noexcept nogil:
    """Return which sample comes at `index` in the cycle with this key."""
    cdef uint64_t x = index, k
    cdef uint32_t i
    while True:
        k = key
        for i in range(order.rounds):
            x = ((x + k) * (k | 1)) & order.mask
            x ^= x >> order.shift
            k *= <uint64_t>0x9E3779B97F4A7C15
        if x < order.size:
            return x
