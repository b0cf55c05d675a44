# The rules that keep the invariant of the hold (hold.pxi), each with a number. BROWNOUT_WITHOUT=number builds an engine
# that lacks one, so that tests can show what each is for: without it Envoy dies.

cdef extern from *:
    """
    #ifndef BROWNOUT_WITHOUT
    #define BROWNOUT_WITHOUT 0
    #endif
    """
    enum:
        _WITHOUT "BROWNOUT_WITHOUT"

cdef enum rule_of_hold:
    AWAIT_UNPAUSED = 1  # nothing complete goes on while the client's connection is paused
    LAND_COMPLETE = 2  # the connection manager's filter keeps what goes on until its end
    MAKE_ROOM = 3  # it has room for the body, when trailers follow
    HAND_OVER_EARLY = 4  # what comes before the request has ended is held in the connection manager
    HAND_OVER_OVERSIZED = 5  # so is what has trailers and exceeds the buffers
    GIVE_UP_ERRORS = 6  # an error with rivals is reset
    SETTLE_SUCCESSES = 7  # a success with rivals is relayed, or waits for them
    KEEP_LITTLE = 8  # of a body that is to be replaced no more is kept than the buffers hold
    RAISE_LIMIT = 9  # the buffers hold a new body
    RELAY_ALONE = 10  # the cluster's filter alone relays
    SKIP_EARLY_ALONE = 11  # and does not hold what comes before the request has ended
    SKIP_TRAILERS_ALONE = 12  # nor what has trailers
    REPLACE_IN_PLACE = 13  # the connection manager's filter rewrites a complete response instead of replying

cdef inline bint applies(int rule) noexcept nogil:
    return rule != _WITHOUT
