# What belongs to one thread of Envoy.

from libc.stdint cimport uint64_t

from filter_runtime.engine.rng cimport rng_seed, rng_t

cdef extern from *:
    """
    #include <stdint.h>
    static __thread brownout_rng brownout_random;  /* rng.pxd */
    static __thread int brownout_random_ready;
    static __thread int brownout_is_timer_thread;

    static inline brownout_rng *brownout_thread_random(int *ready) {
        *ready = brownout_random_ready;
        brownout_random_ready = 1;
        return &brownout_random;
    }
    static inline void brownout_be_timer_thread(void) { brownout_is_timer_thread = 1; }
    static inline int brownout_on_timer_thread(void) { return brownout_is_timer_thread; }
    """
    rng_t* _random "brownout_thread_random"(int* ready) noexcept nogil
    void become_timer_thread "brownout_be_timer_thread"() noexcept nogil
    bint on_timer_thread "brownout_on_timer_thread"() noexcept nogil

cdef inline rng_t* thread_rng() noexcept nogil:
    """Return this thread's random numbers, seeded from the kernel on first use."""
    cdef int ready
    cdef rng_t* rng = _random(&ready)
    if not ready:
        rng_seed(rng)
    return rng
