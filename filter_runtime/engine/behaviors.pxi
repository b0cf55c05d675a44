# The compiled behaviours of this process: one table for all equal ones. Everything here holds the GIL.

cdef enum:
    BEHAVIORS_KEPT = 64  # unused ones, at least, before they are looked for

cdef dict _behaviors = {}  # digest -> address; the table holds a reference on each
cdef Py_ssize_t _behaviors_limit = BEHAVIORS_KEPT  # so many call for a sweep
cdef bint _sweeping_behaviors = False  # a garbage collection amid a sweep may let another thread in


cdef behavior_t* behavior_build(object behavior) except NULL:
    """Return a new reference to the compiled form of a `brownout.profile.Behavior`.

    Raises `ValueError` for weights beyond 2^62.
    """
    cdef object shape = _shape_of(behavior)
    cdef bytes key = _digest(shape)
    cdef object known = _behaviors.get(key)
    cdef behavior_t* built
    if known is None:
        if len(_behaviors) >= _behaviors_limit:
            _sweep_behaviors()
        built = _compile(shape)
        known = _behaviors.setdefault(key, <size_t>built)
        if <size_t>known != <size_t>built:  # another thread was faster
            behavior_release(built)
    built = <behavior_t*><size_t>known
    behavior_retain(built)
    return built


# What only this table refers to is unused; only this table could hand it out again.
cdef int _sweep_behaviors() except -1:
    global _behaviors_limit, _sweeping_behaviors
    cdef object key, address
    cdef behavior_t* behavior
    if _sweeping_behaviors:
        return 0
    _sweeping_behaviors = True
    try:
        for key, address in list(_behaviors.items()):
            behavior = <behavior_t*><size_t>address
            if references_count(&behavior.references) == 1:
                del _behaviors[key]
                behavior_release(behavior)
        _behaviors_limit = 2 * len(_behaviors) + BEHAVIORS_KEPT
    finally:
        _sweeping_behaviors = False
    return 0
