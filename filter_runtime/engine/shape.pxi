# What a `brownout.profile.Behavior` says, as named records of plain values: numbers, bytes and tuples of them.
#
# The record is what is compiled, and what tells behaviours apart: a behaviour with another record is another one, and
# whatever a record has counts. Reads the model's attributes and imports nothing of it.

# What decides a draw: behaviours with equal ones share their state.
_Sampling = namedtuple("_Sampling", ("distribution", "seed", "healthy", "tipping", "load"))
_Entry = namedtuple("_Entry", ("status", "resolution", "points"))
_Load = namedtuple("_Load", ("healthy", "tipping", "scope", "grey"))
_Grey = namedtuple("_Grey", ("penalty_base", "spike_threshold", "multiplier", "recovery_rate", "spike_duration"))
# What is done with a draw; the replies are those of the healthy entries, then those of the tipping ones.
_Action = namedtuple("_Action", ("diagnostic", "override", "replies"))
_Reply = namedtuple("_Reply", ("body", "headers"))
_Shape = namedtuple("_Shape", ("sampling", "action"))


cdef bytes _digest(object value):
    return blake2b(repr(value).encode(), digest_size=sizeof(((<behavior_t*>NULL).identity))).digest()


cdef object _shape_of(object behavior):
    cdef object load = behavior.load_based
    cdef tuple healthy, tipping = ()
    if load is None:
        healthy = tuple(behavior.responses)
    else:
        healthy, tipping = tuple(load.healthy.responses), tuple(load.tipping_point.responses)
    sampling = _Sampling(
        distribution=behavior.probability_distribution,
        seed=behavior.seed,
        healthy=tuple([_entry_of(response) for response in healthy]),
        tipping=tuple([_entry_of(response) for response in tipping]),
        load=None if load is None else _load_of(load),
    )
    action = _Action(
        diagnostic=behavior.diagnostic,
        override=behavior.override,
        replies=tuple([_reply_of(response) for response in (*healthy, *tipping)]),
    )
    return _Shape(sampling, action)


cdef object _entry_of(object response):
    return _Entry(response.status, response.resolution, tuple(response.distribution.points))


cdef object _load_of(object load):
    cdef object grey = load.grey_zone
    return _Load(
        healthy=load.healthy.threshold_in_flight,
        tipping=load.tipping_point.threshold_in_flight,
        scope=load.scope,
        grey=None if grey is None else _Grey(
            penalty_base=grey.penalty_base,
            spike_threshold=grey.spike_threshold,
            multiplier=grey.spike_penalty_multiplier,
            recovery_rate=grey.recovery_rate,
            spike_duration=grey.spike_penalty_duration,
        ),
    )


# What a response answers when its status is forced.
cdef object _reply_of(object response):
    cdef object local = response.local_response
    cdef object body = None if local is None else local.body
    cdef list headers = []
    if local is not None:
        headers = [(header.name.encode(), header.value.encode()) for header in local.headers]
    if body is not None:
        return _Reply(body.encode(), tuple(headers))
    if response.status < 400:
        return _Reply(b"", tuple(headers))
    if not any([name.lower() == b"content-type" for name, _ in headers]):
        headers.append((b"content-type", b"text/plain"))
    return _Reply(f"fault filter abort: {response.status}\n".encode(), tuple(headers))


# The distribution with both of its ends: from quantile 0 to 1.
cdef list _curve(tuple points):
    cdef list curve = list(points)
    if curve[0][0] > 0.0:
        curve.insert(0, (0.0, 0))
    if curve[len(curve) - 1][0] < 1.0:
        curve.append((1.0, 2 * curve[len(curve) - 1][1]))
    return curve
