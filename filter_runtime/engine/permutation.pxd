# cython: cdivision=True
# The order in which a cycle serves its samples: a keyed permutation of [0, n), computed, never stored.
#
# A bijection on the b-bit numbers, b the bits of n - 1: rounds of a keyed odd multiplication and addition
# (carries what is low upwards) and a fold of the upper half onto the lower one (carries it down), with a
# rotation by one between them. The walk through it from an index below n back to below n is a permutation of [0, n) (Black &
# Rogaway, "Ciphers with Arbitrary Finite Domains", 2002); it takes fewer than two steps on average.
#
# How many rounds: as many as it takes for all n! orders to come up equally often for n <= 7, and for pairs,
# gaps and neighbouring cycles to look independent for larger n, and one or more beyond that.

from libc.stdint cimport uint32_t, uint64_t

# What does not depend on the cycle.
cdef struct order_t:
    uint64_t size  # n, 1 to 2^62
    uint64_t mask  # 2^b - 1
    uint32_t bits  # b, 1 or more
    uint32_t half  # b / 2, rounded up
    uint32_t rounds
    uint32_t lane_bits  # see cycle.pxd
    double step  # 1 / n

cdef inline void order_for(order_t* order, uint64_t size, uint32_t lane_bits) noexcept nogil:
    cdef uint32_t bits = 1
    while size > (<uint64_t>1 << bits):
        bits += 1
    order.size = size
    order.mask = (<uint64_t>1 << bits) - 1
    order.bits = bits
    order.half = (bits + 1) // 2
    order.rounds = 12 if bits <= 3 else 8 if bits == 4 else 6 if bits <= 8 else 5
    order.lane_bits = lane_bits
    order.step = 1.0 / <double>size

cdef inline uint64_t permute(const order_t* order, uint64_t key, uint64_t index) noexcept nogil:
    """Return which sample, in [0, n), comes at `index` of the cycle with this key."""
    cdef uint64_t x = index, k
    cdef uint32_t i
    while True:
        k = key
        x = (x * ((k >> 16) | 1) + (k >> 32)) & order.mask
        x ^= x >> order.half
        for i in range(1, order.rounds):
            # Only the upper bits of this generator are random enough to be keys.
            k = k * <uint64_t>0xD1342543DE82EF95 + <uint64_t>0x2545F4914F6CDD1D
            x = (x >> 1) | (x << (order.bits - 1))
            x = (x * ((k >> 16) | 1) + (k >> 32)) & order.mask
            x ^= x >> order.half
        if x < order.size:
            return x
