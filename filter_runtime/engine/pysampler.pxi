# The sampler in Python's hands: for simulations, previews, benchmarks and tests.

def duration_text(int64_t ns):
    """Return a duration in nanoseconds as Go prints it."""
    cdef char buffer[DURATION_SIZE]
    cdef Py_ssize_t length = format_duration(ns, buffer)
    return buffer[:length].decode()


cdef class Sampler:
    """One compiled behaviour with its state.

    Args:
        behavior: a `brownout.profile.Behavior`.
        endpoint: share the process's state of this behaviour at this endpoint; by default the state is new
            and this sampler's alone.

    May be used from any number of threads at once.
    """

    cdef behavior_t* _behavior
    cdef state_t* _state

    def __cinit__(self, behavior, endpoint=None):
        self._behavior = behavior_build(behavior)
        if endpoint is None:
            self._state = state_new(self._behavior, endpoint_new())
        else:
            self._state = state_get(endpoint.encode(), 0, self._behavior)

    def __dealloc__(self):
        if self._state != NULL:
            state_release(self._state)
        if self._behavior != NULL:
            behavior_release(self._behavior)

    def fill(self, int[::1] statuses, double[::1] seconds, const int64_t[::1] in_flight, const int64_t[::1] clock):
        """Draw `len(statuses)` times, without the GIL.

        Args:
            statuses: receives the statuses.
            seconds: receives the latencies, in seconds.
            in_flight: the observed load of each draw, or one number for all.
            clock: the monotonic time of each draw in nanoseconds, or one for all.
        """
        cdef Py_ssize_t n = statuses.shape[0], i
        cdef Py_ssize_t load_step = in_flight.shape[0] != 1, clock_step = clock.shape[0] != 1
        cdef draw_t drawn
        cdef rng_t rng
        if seconds.shape[0] != n or in_flight.shape[0] not in (1, n) or clock.shape[0] not in (1, n):
            raise ValueError("the arrays differ in length")
        rng_seed(&rng)
        with nogil:
            for i in range(n):
                draw(self._behavior, self._state, <uint64_t>in_flight[i * load_step], clock[i * clock_step], &rng, &drawn)
                statuses[i] = drawn.status
                seconds[i] = <double>drawn.target_ns / 1e9
