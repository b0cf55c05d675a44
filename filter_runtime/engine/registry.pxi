# The states of this process, by endpoint and behaviour.
#
# A state outlives the configurations that use it: halt and resume, a push that builds every route's
# configuration anew, and a fault that is removed and put back all find the cycle and the spike where they
# were. Unused states are kept up to a number, the longest unused go first. Everything here holds the GIL;
# releasing does not need it, since this table holds a reference of its own on whatever it lists.

cdef enum:
    STATES_KEPT = 1024  # unused ones; about 1 KiB each

cdef dict _states = {}  # (place, identity) -> address of a state_t
cdef dict _endpoints = {}  # place -> address of an endpoint_t
cdef Py_ssize_t _states_limit = STATES_KEPT  # so many call for a sweep
cdef bint _sweeping = False  # a garbage collection amid a sweep may let another thread in


# Where a binding's `endpoint` is.
cdef bytes place_named(str endpoint_id):
    return b"id " + endpoint_id.encode()


# Where an entry without an `endpoint` is: what it matches, in a form that equal matches share, and how many entries
# before it match the same. Its position would be another one with each entry that comes before it.
cdef bytes place_matching(object match, Py_ssize_t number):
    return b"match " + _digest((match, number))


cdef state_t* state_get(bytes place, behavior_t* behavior) except NULL:
    """Return a new reference to the state of a behaviour at an endpoint.

    Args:
        place: which endpoint: `place_named`, `place_matching`, or nothing for a route that does not say.
        behavior: what the state belongs to; behaviours that differ only in what a forced response looks
            like share it.
    """
    cdef bytes identity = (<char*>behavior.identity)[: sizeof(behavior.identity)]
    cdef tuple key = (place, identity)
    cdef object known = _states.get(key)
    cdef state_t* state
    if known is None:
        if len(_states) >= _states_limit:
            _sweep_states()
        state = state_new(behavior, _endpoint_get(place))
        known = _states.setdefault(key, <size_t>state)
        if <size_t>known != <size_t>state:
            state_release(state)
    state = <state_t*><size_t>known
    state_retain(state)
    return state


# A state of its own, outside the table, that takes over the reference on `endpoint`.
cdef state_t* state_new(behavior_t* behavior, endpoint_t* endpoint) except NULL:
    cdef state_t* state = <state_t*>aligned_alloc(CACHE_LINES, state_size(behavior))
    if state == NULL:
        endpoint_release(endpoint)
        raise MemoryError
    state_init(state, behavior, endpoint)
    return state


cdef endpoint_t* endpoint_new() except NULL:
    cdef endpoint_t* endpoint = <endpoint_t*>aligned_alloc(CACHE_LINES, sizeof(endpoint_t))
    if endpoint == NULL:
        raise MemoryError
    memset(endpoint, 0, sizeof(endpoint_t))
    endpoint.references = 1
    return endpoint


# A new reference to the endpoint's counter: one for all behaviours of a named endpoint. Others may be in several
# clusters' configurations: there each behaviour has its own.
cdef endpoint_t* _endpoint_get(bytes place) except NULL:
    cdef object known
    cdef endpoint_t* endpoint
    if not place.startswith(b"id "):
        return endpoint_new()
    known = _endpoints.get(place)
    if known is None:
        endpoint = endpoint_new()
        known = _endpoints.setdefault(place, <size_t>endpoint)
        if <size_t>known != <size_t>endpoint:
            endpoint_release(endpoint)
    endpoint = <endpoint_t*><size_t>known
    references_add(&endpoint.references)
    return endpoint


# Looks at every state, so seldom that each new one pays for a few. What only its table refers to is unused.
cdef int _sweep_states() except -1:
    global _states_limit, _sweeping
    cdef list unused = []
    cdef object key, address, since
    cdef state_t* state
    if _sweeping:
        return 0
    _sweeping = True
    try:
        for key, address in list(_states.items()):
            state = <state_t*><size_t>address
            if references_count(&state.references) == 1:
                unused.append((load_signed(&state.idle_since), address, key))
        unused.sort()
        _states_limit = 2 * (len(_states) - len(unused)) + STATES_KEPT
        for since, address, key in unused[: max(0, len(unused) - STATES_KEPT // 2)]:
            state = <state_t*><size_t>address
            if references_count(&state.references) == 1:
                del _states[key]
                state_release(state)
        _sweep_endpoints()
    finally:
        _sweeping = False
    return 0


cdef int _sweep_endpoints() except -1:
    cdef object key, address
    cdef endpoint_t* endpoint
    for key, address in list(_endpoints.items()):
        endpoint = <endpoint_t*><size_t>address
        if references_count(&endpoint.references) == 1:
            del _endpoints[key]
            endpoint_release(endpoint)
    return 0


def registered():
    """Return how many compiled behaviours, states and endpoints this process keeps."""
    return len(_behaviors), len(_states), len(_endpoints)
