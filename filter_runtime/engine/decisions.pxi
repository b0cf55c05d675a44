# What happens to a response: decided here, from the draw and from what is known of the stream, and carried out in
# delivery.pxi. Why some responses must not simply go on: hold.pxi.

cdef enum:
    SWITCHING_PROTOCOLS = 101


# An upgrade has a status that no profile can name: a sampled success lets it happen.
cdef inline bint _forces(const stream_t* stream) noexcept nogil:
    if stream.upstream_status == SWITCHING_PROTOCOLS:
        return stream.draw.status >= 400
    return stream.draw.status != stream.upstream_status


# Decided when the response's headers have come.
cdef inline int _effect_of(const stream_t* stream) noexcept nogil:
    if not _forces(stream):
        return DESCRIBED
    if stream.rule.behavior.override_upstream and stream.place == IN_CLUSTER and not _is_tunnel(stream):
        return REWRITTEN
    return REPLACED


# Its response never ends, so it cannot be rewritten into one that does.
cdef inline bint _is_tunnel(const stream_t* stream) noexcept nogil:
    return stream.upstream_status == SWITCHING_PROTOCOLS or (
        not stream.request_ended and _is_connect(stream.envoy)
    )


cdef inline bint _is_connect(void* envoy) noexcept nogil:
    cdef buffer_t method
    return get_attribute(envoy, REQUEST_METHOD, &method) and (
        method.length == 7 and memcmp(method.data, b"CONNECT", 7) == 0
    )


# Of a response that is held in the cluster, when its time has come. `manager` is NULL when the cluster's filter is alone.
cdef int _way_of(const stream_t* stream, const stream_t* manager) noexcept nogil:
    cdef bint has_rivals
    if stream.effect == REPLACED:
        return GO
    has_rivals = has_rival(stream)
    if not stream.complete:
        return AWAIT_RIVALS if has_rivals and _is_error(stream) else GO
    if stream.oversized and applies(HAND_OVER_OVERSIZED):
        return RESET
    if has_rivals and not stream.response_ended:
        if _is_error(stream):
            if applies(GIVE_UP_ERRORS):
                return RESET
        elif applies(SETTLE_SUCCESSES):
            if _can_relay(stream):
                return RELAY
            return RESET if _is_awaited(stream) else AWAIT_RIVALS
    if stream.internal:
        return GO
    if manager == NULL:
        if not applies(RELAY_ALONE):
            return GO
        return RELAY if _can_relay(stream) else RESET
    if manager.assist.pauses > 0 and applies(AWAIT_UNPAUSED):
        return RELAY if _can_relay(stream) and not _is_error(stream) else AWAIT_CLIENT
    return LAND if applies(LAND_COMPLETE) else GO


# What the router may retry, or give up for another attempt's sake.
cdef inline bint _is_error(const stream_t* stream) noexcept nogil:
    return (stream.draw.status if stream.effect == REWRITTEN else stream.upstream_status) >= 400


cdef inline bint _can_relay(const stream_t* stream) noexcept nogil:
    if is_grpc(stream.envoy):
        return stream.response_ended
    return not stream.has_trailers or stream.effect == REWRITTEN


# One of two that would wait for each other has to go first.
cdef inline bint _is_awaited(const stream_t* stream) noexcept nogil:
    cdef stream_t* rival = next_rival(stream, NULL)
    while rival != NULL:
        if rival.awaits_rivals:
            return True
        rival = next_rival(stream, rival)
    return False
