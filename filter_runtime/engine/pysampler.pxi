# The sampler in Python's hands: for simulations, previews, benchmarks and tests.

def duration_text(int64_t ns):
    """Return a duration in nanoseconds as Go prints it."""
    cdef char buffer[DURATION_SIZE]
    cdef Py_ssize_t length = format_duration(ns, buffer)
    return buffer[:length].decode()


def fill_permutation(uint64_t size, uint64_t key, uint64_t first, uint64_t[::1] out):
    """Write the samples at `first`, `first` + 1, ... of the permutation of [0, size) with this key."""
    cdef order_t order
    cdef Py_ssize_t i
    if not 1 <= size <= 2**62 or first + <uint64_t>out.shape[0] > size:
        raise ValueError("expected a size from 1 to 2^62 and indices below it")
    order_for(&order, size, 0)
    with nogil:
        for i in range(out.shape[0]):
            out[i] = permute(&order, key, first + <uint64_t>i)


cdef class Sampler:
    """One compiled behaviour with its state; any number of threads may draw from it at once.

    Args:
        behavior: a `brownout.profile.Behavior`.
        endpoint: share the process's state of this behaviour at this endpoint; by default the state is new
            and this sampler's alone.
    """

    cdef behavior_t* _behavior
    cdef state_t* _state

    def __cinit__(self, behavior, str endpoint=None):
        self._behavior = behavior_build(behavior)
        if endpoint is None:
            self._state = state_new(self._behavior, endpoint_new())
        else:
            self._state = state_get(place_named(endpoint), self._behavior)

    def __dealloc__(self):
        if self._state != NULL:
            state_release(self._state)
        if self._behavior != NULL:
            behavior_release(self._behavior)

    @property
    def size(self):
        """Bytes of the compiled behaviour and of the state."""
        return self._behavior.size, state_size(self._behavior)

    def shares(self, Sampler other not None):
        """Say whether another sampler has the same compiled behaviour, and whether it has the same state."""
        return self._behavior == other._behavior, self._state == other._state

    def reply(self, uint32_t entry):
        """Return the body and the header pairs of what a forced status answers, and its gRPC status."""
        cdef const entry_t* known = self._entry(entry)
        cdef const header_t* headers = known.reply.headers
        pairs = [
            (headers[i].name[: headers[i].name_length], headers[i].value[: headers[i].value_length])
            for i in range(known.reply.header_count)
        ]
        return known.reply.body[: known.reply.body_length], pairs, known.grpc_status

    def fill_quantiles(self, uint32_t entry, const double[::1] quantiles, double[::1] ns):
        """Write the latencies, in nanoseconds, of an entry's distribution at quantiles from 0 to 1."""
        cdef const entry_t* known = self._entry(entry)
        cdef Py_ssize_t i
        if ns.shape[0] != quantiles.shape[0]:
            raise ValueError("the arrays differ in length")
        for i in range(ns.shape[0]):
            if not 0.0 <= quantiles[i] <= 1.0:
                raise ValueError("expected quantiles from 0 to 1")
            ns[i] = latency_at(&known.curve, quantiles[i])

    def fill(self, int[::1] statuses, int64_t[::1] ns, const uint64_t[::1] in_flight, const int64_t[::1] clock):
        """Draw `len(statuses)` times, without the GIL, as one worker with random numbers of its own.

        Args:
            statuses: receives the statuses.
            ns: receives the latencies, in nanoseconds.
            in_flight: the observed load of each draw, or one number for all.
            clock: the monotonic time of each draw in nanoseconds, or one for all.
        """
        cdef Py_ssize_t n = statuses.shape[0], i
        cdef Py_ssize_t load_step = in_flight.shape[0] != 1, clock_step = clock.shape[0] != 1
        cdef draw_t drawn
        cdef rng_t rng
        if ns.shape[0] != n or in_flight.shape[0] not in (1, n) or clock.shape[0] not in (1, n):
            raise ValueError("the arrays differ in length")
        rng_seed(&rng)
        with nogil:
            for i in range(n):
                draw(self._behavior, self._state, in_flight[i * load_step], clock[i * clock_step], &rng, &drawn)
                statuses[i] = drawn.status
                ns[i] = drawn.target_ns

    cdef const entry_t* _entry(self, uint32_t entry) except NULL:
        if entry >= self._behavior.entry_count:
            raise IndexError(f"entry {entry} of {self._behavior.entry_count}")
        return self._behavior.entries + entry
