# What threads share, beyond plain counters: ordered words, stacks, a thread and its wake-up, clocks.

from libc.stdint cimport int64_t, uint32_t

cdef extern from *:
    """
    #include <errno.h>
    #include <linux/futex.h>
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <stdint.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>

    static inline int64_t brownout_clock(int clock) {
        struct timespec now;
        clock_gettime(clock, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    static inline int64_t brownout_read(const int64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
    static inline void brownout_write(int64_t *word, int64_t value) {
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    }
    static inline int64_t brownout_exchange(int64_t *word, int64_t value) {
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    }
    static inline int brownout_replace(int64_t *word, int64_t expected, int64_t value) {
        return __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }

    /* A stack whose consumer takes everything at once: pushes need no lock and no ABA can happen. */
    static inline void brownout_push(void **stack, void *item, void **link) {
        *link = __atomic_load_n(stack, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(stack, link, item, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        }
    }
    static inline void *brownout_take_all(void **stack) {
        if (__atomic_load_n(stack, __ATOMIC_SEQ_CST) == NULL)
            return NULL;
        return __atomic_exchange_n(stack, NULL, __ATOMIC_SEQ_CST);
    }
    static inline int brownout_is_empty(void **stack) { return __atomic_load_n(stack, __ATOMIC_SEQ_CST) == NULL; }

    static inline void brownout_wake(uint32_t *word) {
        __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    static inline uint32_t brownout_ticket(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
    /* Sleeps until CLOCK_MONOTONIC reaches `until`, or `brownout_wake` after the ticket was taken. */
    static inline void brownout_sleep(uint32_t *word, uint32_t ticket, int64_t until) {
        struct timespec deadline = {until / 1000000000, until % 1000000000};
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, ticket, &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    }

    /* A detached thread that takes no signals: those are Envoy's. */
    static int brownout_start_thread(void *(*body)(void *)) {
        sigset_t all, before;
        pthread_attr_t attributes;
        pthread_t thread;
        int error;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&thread, &attributes, body, NULL);
        pthread_attr_destroy(&attributes);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return error == 0;
    }
    static void brownout_precise_thread(const char *name) {
        prctl(PR_SET_NAME, name, 0, 0, 0);
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
    """
    enum:
        CLOCK_MONOTONIC
        CLOCK_REALTIME
    int64_t clock_ns "brownout_clock"(int clock) noexcept nogil

    int64_t read_word "brownout_read"(const int64_t* word) noexcept nogil
    void write_word "brownout_write"(int64_t* word, int64_t value) noexcept nogil
    int64_t exchange_word "brownout_exchange"(int64_t* word, int64_t value) noexcept nogil
    bint replace_word "brownout_replace"(int64_t* word, int64_t expected, int64_t value) noexcept nogil

    void push "brownout_push"(void** stack, void* item, void** link) noexcept nogil
    void* take_all "brownout_take_all"(void** stack) noexcept nogil
    bint is_empty "brownout_is_empty"(void** stack) noexcept nogil

    void wake "brownout_wake"(uint32_t* word) noexcept nogil
    uint32_t ticket "brownout_ticket"(const uint32_t* word) noexcept nogil
    void sleep_until "brownout_sleep"(uint32_t* word, uint32_t ticket, int64_t until) noexcept nogil
    void give_way "sched_yield"() noexcept nogil

    bint start_thread "brownout_start_thread"(void* (*body)(void*) noexcept nogil) noexcept nogil
    void precise_thread "brownout_precise_thread"(const char* name) noexcept nogil
