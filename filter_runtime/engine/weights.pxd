# cython: cdivision=True
# Which response entry: weighted random, with exact integer weights.
#
# Seed: "a 90% chance of selecting status 200 and a 10% chance of selecting status 503", in both modes.

from libc.stdint cimport uint32_t, uint64_t

from filter_runtime.engine.rng cimport below, rng_t

# The response entries that compete with each other. `cumulative[i]` is the sum of the weights up to entry i.
cdef struct tier_t:
    uint64_t total
    uint32_t first  # index of its first entry in the behaviour
    uint32_t count
    const uint64_t* cumulative

cdef enum:
    # Up to here counting (no branch depends on the number) beats halving.
    COUNTED = 16

cdef inline uint32_t pick(const tier_t* tier, rng_t* rng) noexcept nogil:
    """Return the index, in the behaviour, of a random entry: P(i) = weight[i] / total."""
    cdef uint64_t ticket
    cdef uint32_t index = 0, low, high, middle
    if tier.count == 1:
        return tier.first
    ticket = below(rng, tier.total)
    if tier.count <= COUNTED:
        for low in range(tier.count - 1):
            index += ticket >= tier.cumulative[low]
        return tier.first + index
    low, high = 0, tier.count - 1
    while low < high:
        middle = (low + high) >> 1
        if ticket >= tier.cumulative[middle]:
            low = middle + 1
        else:
            high = middle
    return tier.first + low
