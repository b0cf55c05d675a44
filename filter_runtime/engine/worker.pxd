# What belongs to one thread of Envoy.

from libc.stdint cimport uint64_t

from filter_runtime.engine.rng cimport rng_seed, rng_t

cdef extern from *:
    """
    #include <pthread.h>
    #include <stdint.h>
    #include <sys/syscall.h>
    #include <unistd.h>
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

    static pthread_key_t brownout_thread_end;
    static __thread int brownout_end_awaited;
    static int brownout_at_thread_ends(void (*end)(void *)) {
        return pthread_key_create(&brownout_thread_end, end) == 0;
    }
    static inline void brownout_await_thread_end(void) {
        if (!brownout_end_awaited) {
            brownout_end_awaited = 1;
            pthread_setspecific(brownout_thread_end, &brownout_end_awaited);
        }
    }
    static inline int brownout_on_main_thread(void) {
        static __thread int known; /* 1: no, 2: yes */
        if (known == 0)
            known = syscall(SYS_gettid) == getpid() ? 2 : 1;
        return known == 2;
    }
    """
    rng_t* _random "brownout_thread_random"(int* ready) noexcept nogil
    void become_timer_thread "brownout_be_timer_thread"() noexcept nogil
    bint on_timer_thread "brownout_on_timer_thread"() noexcept nogil

    # `end` is called on each thread that asked for it, as its last act; the process's main thread has no such moment.
    bint at_thread_ends "brownout_at_thread_ends"(void (*end)(void*) noexcept nogil) noexcept nogil
    void await_thread_end "brownout_await_thread_end"() noexcept nogil
    bint on_main_thread "brownout_on_main_thread"() noexcept nogil

cdef inline rng_t* thread_rng() noexcept nogil:
    """Return this thread's random numbers, seeded from the kernel on first use."""
    cdef int ready
    cdef rng_t* rng = _random(&ready)
    if not ready:
        rng_seed(rng)
    return rng
