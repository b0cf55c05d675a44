# Atomic words, by the compiler's own builtins, and how far apart contended ones must lie.
#
# Counters are relaxed: they order nothing but themselves. Reference counts release on every drop and
# acquire on the last one, so that whoever frees an object sees all that was done with it.

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    static inline uint64_t brownout_fetch_add(uint64_t *word, uint64_t amount) {
        return __atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
    }
    static inline uint64_t brownout_load(const uint64_t *word) {
        return __atomic_load_n(word, __ATOMIC_RELAXED);
    }
    static inline uint64_t brownout_load_acquire(const uint64_t *word) {
        return __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    static inline int brownout_advance_if(uint64_t *word, uint64_t expected) {
        return __atomic_compare_exchange_n(word, &expected, expected + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    static inline int64_t brownout_load_signed(const int64_t *word) {
        return __atomic_load_n(word, __ATOMIC_RELAXED);
    }
    static inline void brownout_store_signed(int64_t *word, int64_t value) {
        __atomic_store_n(word, value, __ATOMIC_RELAXED);
    }
    static inline int brownout_exchange_if(int64_t *word, int64_t *expected, int64_t desired) {
        return __atomic_compare_exchange_n(word, expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    static inline void brownout_retain(int64_t *references) {
        __atomic_fetch_add(references, 1, __ATOMIC_RELAXED);
    }
    static inline int brownout_release(int64_t *references) {
        return __atomic_fetch_sub(references, 1, __ATOMIC_ACQ_REL) == 1;
    }
    static inline int64_t brownout_references(const int64_t *references) {
        return __atomic_load_n(references, __ATOMIC_ACQUIRE);
    }
    """
    # The value before the addition.
    uint64_t fetch_add "brownout_fetch_add"(uint64_t* word, uint64_t amount) noexcept nogil
    uint64_t load "brownout_load"(const uint64_t* word) noexcept nogil
    uint64_t load_acquire "brownout_load_acquire"(const uint64_t* word) noexcept nogil
    # True when *word was `expected` and is one more now.
    bint advance_if "brownout_advance_if"(uint64_t* word, uint64_t expected) noexcept nogil
    int64_t load_signed "brownout_load_signed"(const int64_t* word) noexcept nogil
    void store_signed "brownout_store_signed"(int64_t* word, int64_t value) noexcept nogil
    # True when *word was *expected and is `desired` now; otherwise *expected is what the word holds.
    bint exchange_if "brownout_exchange_if"(int64_t* word, int64_t* expected, int64_t desired) noexcept nogil
    void references_add "brownout_retain"(int64_t* references) noexcept nogil
    # True for the caller that dropped the last reference.
    bint references_drop "brownout_release"(int64_t* references) noexcept nogil
    int64_t references_count "brownout_references"(const int64_t* references) noexcept nogil

# Two cache lines of x86-64: its prefetcher fetches them in pairs.
cdef enum:
    CACHE_LINES = 128
