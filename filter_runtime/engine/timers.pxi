# One thread that ends every hold: microsecond deadlines that Envoy's own timers (whole milliseconds) do not have.
#
# Workers hand a stream over on their own lane, a lock-free stack, and wake the thread only when it would sleep too
# long. The thread alone touches the heap. When a deadline comes it commits Envoy's scheduler, which calls `scheduled`
# on the stream's worker.
#
# A stream that ends while it is held may be destroyed anywhere, also on this thread inside a commit. TIMER_ARMED is
# what both sides compete for: whoever changes it first decides. A cancelled stream goes back over a second stack of its
# lane, and only from there is the timer's reference dropped. The worker waits out a commit that is just running, so
# that none is ever made for a stream that has gone, or on a dispatcher that has. (Once `scheduled` was called there is
# nothing to wait for, and waiting would cost milliseconds: the worker often preempts the thread that woke it.)
#
# Within a commit the timer thread keeps Envoy's filter object alive, so its end may come late and on this thread. That is
# fine while Envoy lives; in the end it must not outlive what it refers to. So a worker waits for such a commit as its
# thread ends, which Envoy awaits before it takes itself down, and the main thread whenever it ends a stream.

cdef enum:
    LANES = 64
    # The thread wakes this much ahead, since waking takes about as long, and spins for what is left of it.
    LEAD_NS = 40000
    # What `scheduled` is told.
    EVENT_DUE = 1
    EVENT_EXPIRED = 2
    EVENT_HALTED = 3
    EVENT_RESUMED = 4  # from the worker itself: the client's connection takes more again

cdef struct lane_t:
    void* armed
    void* cancelled
    char _apart[112]

cdef struct timers_t:
    lane_t lanes[LANES]
    int64_t lanes_used  # atomic: those beyond were never handed anything
    int64_t started  # atomic: 0, or 1 once a worker has started the thread
    int64_t failed  # atomic: there is no thread
    int64_t halted  # atomic: nothing is injected
    int64_t sleeps_until  # atomic: 0 while awake
    int64_t commits  # atomic: odd within one
    uint32_t bell
    heap_t heap  # of the thread alone

cdef timers_t _timers


cdef bint timer_arm(stream_t* stream) noexcept nogil:
    """Call `scheduled` on the stream's worker at `timer.deadline`; False when that cannot be."""
    cdef timer_t* timer = &stream.timer
    cdef int64_t lane = stream.worker % LANES
    cdef int64_t used = read_word(&_timers.lanes_used)
    if not read_word(&_timers.started) and replace_word(&_timers.started, 0, 1):
        if not start_thread(_timer_thread):
            write_word(&_timers.failed, 1)
    if read_word(&_timers.failed):
        return False
    while used <= lane:
        replace_word(&_timers.lanes_used, used, lane + 1)
        used = read_word(&_timers.lanes_used)
    timer.scheduler = scheduler_new(stream.envoy)
    if timer.scheduler == NULL:
        return False
    await_thread_end()
    references_add(&stream.references)
    write_word(&timer.state, TIMER_ARMED)
    push(&_timers.lanes[lane].armed, stream, <void**>&timer.next_armed)
    if timer.deadline < read_word(&_timers.sleeps_until) or _is_halted():
        wake(&_timers.bell)
    return True


cdef void timer_cancel(stream_t* stream) noexcept nogil:
    """Let go of a stream that ends while it is held; nothing will be committed for it afterwards."""
    cdef timer_t* timer = &stream.timer
    if replace_word(&timer.state, TIMER_ARMED, TIMER_CANCELLED):
        push(&_timers.lanes[stream.worker % LANES].cancelled, stream, <void**>&timer.next_cancelled)
        if read_word(&_timers.sleeps_until):
            wake(&_timers.bell)
    elif not on_timer_thread():
        while read_word(&timer.state) == TIMER_FIRING:
            give_way()


cdef void timer_finish(stream_t* stream) noexcept nogil:
    """Before a stream that was held ends on the main thread: see to it that the timer thread has left it."""
    if stream.timer.scheduler != NULL and on_main_thread():
        _wait_for_commit()


cdef void _wait_for_commit() noexcept nogil:
    cdef int64_t number = read_word(&_timers.commits)
    while number & 1 and read_word(&_timers.commits) == number:
        give_way()


cdef void _thread_ends(void* unused) noexcept nogil:
    _wait_for_commit()


if not at_thread_ends(_thread_ends):
    raise MemoryError("no thread-specific key is left")


cdef inline bint _is_halted() noexcept nogil:
    return read_word(&_timers.halted) != 0


cdef void timers_halt(bint halted) noexcept nogil:
    """Stop or resume injecting in this process; stopping lets everything go that is held."""
    write_word(&_timers.halted, halted)
    if halted:
        wake(&_timers.bell)


cdef void* _timer_thread(void* unused) noexcept nogil:
    cdef int64_t until
    cdef uint32_t bell
    precise_thread(b"brownout-timers")
    become_timer_thread()
    while True:
        write_word(&_timers.sleeps_until, 0)
        _collect()
        if _is_halted():
            _fire_all()
        _fire_due()
        bell = ticket(&_timers.bell)
        until = _timers.heap.slots[0].deadline if _timers.heap.length else INT64_MAX
        write_word(&_timers.sleeps_until, until)
        # Whoever handed something over before it could see that this thread sleeps is found here.
        if _nothing_handed_over():
            sleep_until(&_timers.bell, bell, until - LEAD_NS)


cdef bint _nothing_handed_over() noexcept nogil:
    cdef int64_t i
    for i in range(read_word(&_timers.lanes_used)):
        if not is_empty(&_timers.lanes[i].armed) or not is_empty(&_timers.lanes[i].cancelled):
            return False
    return True


# Cancelled ones are taken first: whatever is among them was armed before, so it is in the heap once the armed ones are.
cdef void _collect() noexcept nogil:
    cdef stream_t* armed
    cdef stream_t* cancelled
    cdef stream_t* stream
    cdef int64_t i
    for i in range(read_word(&_timers.lanes_used)):
        cancelled = <stream_t*>take_all(&_timers.lanes[i].cancelled)
        armed = <stream_t*>take_all(&_timers.lanes[i].armed)
        while armed != NULL:
            stream = armed
            armed = stream.timer.next_armed
            if not heap_add(&_timers.heap, stream):
                _fire(stream, EVENT_DUE)
        while cancelled != NULL:
            stream = cancelled
            cancelled = stream.timer.next_cancelled
            if stream.timer.heap_index != NOT_IN_HEAP:
                heap_remove(&_timers.heap, stream.timer.heap_index)
            _drop(stream)


cdef void _fire_due() noexcept nogil:
    cdef int64_t now
    cdef stream_t* stream
    if not _timers.heap.length:
        return
    now = clock_ns(CLOCK_MONOTONIC)
    while _timers.heap.length and _timers.heap.slots[0].deadline <= now + LEAD_NS:
        stream = _timers.heap.slots[0].stream
        while now < stream.timer.deadline:
            now = clock_ns(CLOCK_MONOTONIC)
        heap_remove(&_timers.heap, 0)
        _fire(stream, EVENT_EXPIRED if stream.timer.expires else EVENT_DUE)


cdef void _fire_all() noexcept nogil:
    cdef stream_t* stream
    while _timers.heap.length:
        stream = _timers.heap.slots[_timers.heap.length - 1].stream
        heap_remove(&_timers.heap, _timers.heap.length - 1)
        _fire(stream, EVENT_HALTED)


# A stream that was cancelled meanwhile is on its lane's second stack, where `_collect` finds it.
cdef void _fire(stream_t* stream, uint64_t event) noexcept nogil:
    if replace_word(&stream.timer.state, TIMER_ARMED, TIMER_FIRING):
        write_word(&_timers.commits, _timers.commits + 1)
        scheduler_commit(stream.timer.scheduler, event)
        write_word(&stream.timer.state, TIMER_FIRED)
        _drop(stream)
        write_word(&_timers.commits, _timers.commits + 1)


cdef void _drop(stream_t* stream) noexcept nogil:
    scheduler_delete(stream.timer.scheduler)
    stream_release(stream)
