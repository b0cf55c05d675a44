# What a `brownout.profile.Behavior` says, as plain values: tuples of numbers and bytes, to compare and compile.
#
# Reads the model's attributes and imports nothing of it.

cdef bytes _digest(object value):
    return blake2b(repr(value).encode(), digest_size=sizeof(((<behavior_t*>NULL).identity))).digest()


cdef tuple _entries(object responses):
    return tuple([(response.status, response.resolution, tuple(response.distribution.points)) for response in responses])


# What decides a draw, as plain values: two behaviours with the same share their state.
cdef tuple _sampling(object behavior):
    cdef object load = behavior.load_based, grey
    cdef tuple tiers, parameters = ()
    if load is None:
        tiers = (_entries(behavior.responses), ())
    else:
        tiers = (_entries(load.healthy.responses), _entries(load.tipping_point.responses))
        parameters = (load.healthy.threshold_in_flight, load.tipping_point.threshold_in_flight, load.scope)
        grey = load.grey_zone
        if grey is not None:
            parameters += (
                grey.penalty_base,
                grey.spike_threshold,
                grey.spike_penalty_multiplier,
                grey.recovery_rate,
                grey.spike_penalty_duration,
            )
    return (behavior.probability_distribution, behavior.seed, tiers, parameters)


# What each entry answers when its status is forced: (body, ((name, value), ...)).
cdef tuple _replies(object behavior):
    cdef object load = behavior.load_based
    if load is None:
        return tuple([_reply(response) for response in behavior.responses])
    return tuple([_reply(response) for response in (*load.healthy.responses, *load.tipping_point.responses)])


cdef tuple _reply(object response):
    cdef object local = response.local_response
    cdef object body = None if local is None else local.body
    cdef list headers = []
    if local is not None:
        headers = [(header.name.encode(), header.value.encode()) for header in local.headers]
    if body is not None:
        return (body.encode(), tuple(headers))
    if response.status < 400:
        return (b"", tuple(headers))
    if not any([name.lower() == b"content-type" for name, _ in headers]):
        headers.append((b"content-type", b"text/plain"))
    return (f"fault filter abort: {response.status}\n".encode(), tuple(headers))


# The distribution with both of its ends: from quantile 0 to 1.
cdef list _curve(tuple points):
    cdef list curve = list(points)
    if curve[0][0] > 0.0:
        curve.insert(0, (0.0, 0))
    if curve[len(curve) - 1][0] < 1.0:
        curve.append((1.0, 2 * curve[len(curve) - 1][1]))
    return curve
