# cython: cdivision=True
# Random numbers: xoshiro256++ (Blackman & Vigna, 2019), one generator per worker or per seeded draw.
#
# A worker's generator is seeded with 256 bits of the kernel's entropy, so that no two workers, processes or
# starts have anything in common. Ranges are unbiased (Lemire, "Fast Random Integer Generation in an
# Interval", 2019).

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/random.h>
    #include <unistd.h>

    typedef struct {
        uint64_t s[4];
        uint32_t lane;
    } brownout_rng;

    static inline uint64_t brownout_multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (uint64_t)product;
        return (uint64_t)(product >> 64);
    }

    static inline uint64_t brownout_rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

    /* The kernel's entropy; without any there is no honest random number, so the process ends. */
    static void brownout_entropy(void *buffer, size_t length) {
        unsigned char *at = buffer;
        while (length) {
            ssize_t got = getrandom(at, length, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) {
                int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
                got = device < 0 ? -1 : read(device, at, length);
                if (device >= 0) close(device);
                if (got <= 0) abort();
            }
            at += got;
            length -= (size_t)got;
        }
    }
    """
    # A worker's generator, and the lane on which it looks first in a cycle that it shares (cycle.pxd).
    ctypedef struct rng_t "brownout_rng":
        uint64_t s[4]
        uint32_t lane
    uint64_t multiply_high "brownout_multiply_high"(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil
    uint64_t rotate "brownout_rotate"(uint64_t x, int k) noexcept nogil
    void entropy "brownout_entropy"(void* buffer, size_t length) noexcept nogil

cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """Return the finaliser of SplitMix64 (Steele, Lea & Flood, 2014): a bijection that avalanches."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)

cdef inline void rng_seed(rng_t* rng) noexcept nogil:
    """Seed with the kernel's entropy."""
    entropy(rng.s, sizeof(rng.s))
    rng.lane = <uint32_t>(rng.s[1] >> 32)
    rng.s[0] |= 1  # all zeros is the one state that never moves

cdef inline void rng_key(rng_t* rng, uint64_t key, uint64_t number) noexcept nogil:
    """Set to the generator of one seeded draw: a function of the key and the draw's number alone."""
    cdef uint64_t x = mix(key + number * <uint64_t>0x9E3779B97F4A7C15) ^ key
    cdef int i
    rng.lane = 0
    for i in range(4):
        x += <uint64_t>0x9E3779B97F4A7C15
        rng.s[i] = mix(x)

cdef inline uint64_t next_word(rng_t* rng) noexcept nogil:
    cdef uint64_t result = rotate(rng.s[0] + rng.s[3], 23) + rng.s[0]
    cdef uint64_t t = rng.s[1] << 17
    rng.s[2] ^= rng.s[0]
    rng.s[3] ^= rng.s[1]
    rng.s[1] ^= rng.s[2]
    rng.s[0] ^= rng.s[3]
    rng.s[2] ^= t
    rng.s[3] = rotate(rng.s[3], 45)
    return result

cdef inline uint64_t below(rng_t* rng, uint64_t bound) noexcept nogil:
    """Return a uniform integer in [0, bound), bound >= 1."""
    cdef uint64_t low, floor
    cdef uint64_t high = multiply_high(next_word(rng), bound, &low)
    if low < bound:
        floor = (-bound) % bound
        while low < floor:
            high = multiply_high(next_word(rng), bound, &low)
    return high

cdef inline double unit(rng_t* rng) noexcept nogil:
    """Return a uniform multiple of 2^-53 in [0, 1)."""
    return <double><int64_t>(next_word(rng) >> 11) * (1.0 / 9007199254740992.0)
