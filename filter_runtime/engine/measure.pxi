# The loops that `benchmarks/` times: the same loop around ever more of a draw.

cdef extern from *:
    """
    /* The compiler must compute the value, and may not keep it. */
    static inline void brownout_consume(int64_t value) { __asm__ volatile("" : : "r"(value)); }

    /* What follows begins when all before it has ended. */
    static inline void brownout_await(void) {
    #if defined(__x86_64__)
        __asm__ volatile("lfence" : : : "memory");
    #elif defined(__aarch64__)
        __asm__ volatile("isb" : : : "memory");
    #else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    #endif
    }
    """
    void consume "brownout_consume"(int64_t value) noexcept nogil
    void await_all "brownout_await"() noexcept nogil

cdef enum:
    LOOP_EMPTY
    LOOP_RANDOM
    LOOP_FLOOR
    LOOP_STATUS
    LOOP_LATENCY
    LOOP_DRAW
    LOOP_IN_FLIGHT

cdef dict _loops = {
    "empty": LOOP_EMPTY,
    "random": LOOP_RANDOM,
    "floor": LOOP_FLOOR,
    "status": LOOP_STATUS,
    "latency": LOOP_LATENCY,
    "draw": LOOP_DRAW,
    "in-flight": LOOP_IN_FLIGHT,
}


cdef inline int64_t _now(clockid_t clock) noexcept nogil:
    cdef timespec now
    clock_gettime(clock, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


cdef inline int64_t _round(int loop, Sampler sampler, uint64_t in_flight, int64_t now, rng_t* rng) noexcept nogil:
    cdef const behavior_t* behavior = sampler._behavior
    cdef state_t* state = sampler._state
    cdef const entry_t* first = behavior.entries
    cdef int64_t before
    cdef draw_t drawn
    if loop == LOOP_RANDOM:
        return <int64_t>next_word(rng)
    if loop == LOOP_STATUS:
        return behavior.entries[pick(&behavior.healthy, rng)].status
    if loop == LOOP_LATENCY and behavior.stateful:
        return to_nanoseconds(latency_at(&first.curve, next_quantile(&first.order, state.places, rng)))
    if loop == LOOP_FLOOR or loop == LOOP_LATENCY:
        return to_nanoseconds(latency_at(&first.curve, unit(rng)))
    if loop == LOOP_DRAW:
        draw(behavior, state, in_flight, now, rng, &drawn)
        consume(drawn.status)
        return drawn.target_ns
    if loop == LOOP_IN_FLIGHT:
        before = <int64_t>in_flight_enter(&state.endpoint.in_flight)
        in_flight_leave(&state.endpoint.in_flight)
        return before
    return now


def measure(Sampler sampler not None, str what, Py_ssize_t rounds, bint isolated, uint64_t in_flight=0):
    """Run one loop without the GIL; return when it started, when it ended and its CPU time, in nanoseconds.

    Args:
        sampler: what to draw from.
        what: "empty", "random" (one random number), "floor" (one random number and one interpolation in the
            table of the first entry), "status", "latency" (of the first entry), "draw", or "in-flight" (one
            request in and out).
        rounds: how often.
        isolated: let each round wait for the end of the one before, as rounds that are requests do; otherwise
            the processor overlaps them.
        in_flight: the load that every draw observes.
    """
    cdef int loop = _loops[what]
    cdef int64_t started, ended, cpu
    cdef Py_ssize_t i
    cdef rng_t rng
    rng_seed(&rng)
    with nogil:
        started, cpu = _now(CLOCK_MONOTONIC), _now(CLOCK_THREAD_CPUTIME_ID)
        if isolated:
            for i in range(rounds):
                consume(_round(loop, sampler, in_flight, i, &rng))
                await_all()
        else:
            for i in range(rounds):
                consume(_round(loop, sampler, in_flight, i, &rng))
        cpu, ended = _now(CLOCK_THREAD_CPUTIME_ID) - cpu, _now(CLOCK_MONOTONIC)
    return started, ended, cpu
