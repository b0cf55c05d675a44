# Held streams by deadline: a binary heap in which every stream knows its place, so that a cancelled one leaves at once.

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport realloc

from filter_runtime.engine.stream cimport NOT_IN_HEAP, stream_t

cdef enum:
    HEAP_START = 256  # slots of the first allocation

cdef struct slot_t:
    int64_t deadline
    stream_t* stream

cdef struct heap_t:
    slot_t* slots  # the earliest deadline first
    uint32_t length
    uint32_t capacity

cdef inline void _put(heap_t* heap, uint32_t index, slot_t slot) noexcept nogil:
    heap.slots[index] = slot
    slot.stream.timer.heap_index = index

cdef inline void _sift_up(heap_t* heap, uint32_t index, slot_t slot) noexcept nogil:
    cdef uint32_t above
    while index:
        above = (index - 1) // 2
        if heap.slots[above].deadline <= slot.deadline:
            break
        _put(heap, index, heap.slots[above])
        index = above
    _put(heap, index, slot)

cdef inline void _sift_down(heap_t* heap, uint32_t index, slot_t slot) noexcept nogil:
    cdef uint32_t below = 2 * index + 1
    while below < heap.length:
        if below + 1 < heap.length and heap.slots[below + 1].deadline < heap.slots[below].deadline:
            below += 1
        if slot.deadline <= heap.slots[below].deadline:
            break
        _put(heap, index, heap.slots[below])
        index = below
        below = 2 * index + 1
    _put(heap, index, slot)

cdef inline bint heap_add(heap_t* heap, stream_t* stream) noexcept nogil:
    """Add a stream by its timer's deadline. False when there was no memory."""
    cdef slot_t* larger
    cdef slot_t slot
    cdef uint32_t capacity
    if heap.length == heap.capacity:
        capacity = 2 * heap.capacity if heap.capacity else HEAP_START
        larger = <slot_t*>realloc(heap.slots, capacity * sizeof(slot_t))
        if larger == NULL:
            return False
        heap.slots = larger
        heap.capacity = capacity
    slot.deadline = stream.timer.deadline
    slot.stream = stream
    heap.length += 1
    _sift_up(heap, heap.length - 1, slot)
    return True

cdef inline void heap_remove(heap_t* heap, uint32_t index) noexcept nogil:
    """Remove the stream in one place."""
    cdef slot_t last
    heap.slots[index].stream.timer.heap_index = NOT_IN_HEAP
    heap.length -= 1
    if index == heap.length:
        return
    last = heap.slots[heap.length]
    if index and last.deadline < heap.slots[(index - 1) // 2].deadline:
        _sift_up(heap, index, last)
    else:
        _sift_down(heap, index, last)
