# From a `brownout.profile.Behavior` to its compiled table, once for all equal behaviours.
#
# Reads the model's attributes and imports nothing of it. Everything here holds the GIL.

cdef enum:
    GUIDE_CELLS = 32  # at least; a power of two, so that a quantile's cell is exact
    BEHAVIORS_KEPT = 64

cdef dict _behaviors = {}  # digest -> address; the table holds a reference on each
cdef Py_ssize_t _behaviors_limit = BEHAVIORS_KEPT  # so many call for a sweep


cdef behavior_t* behavior_build(object behavior) except NULL:
    """Return a new reference to the compiled form of a `brownout.profile.Behavior`.

    Raises `ValueError` for weights beyond 2^62.
    """
    cdef tuple sampling = _sampling(behavior)
    cdef tuple replies = _replies(behavior)
    cdef bytes identity = _digest(sampling)
    cdef bytes key = _digest((sampling, behavior.diagnostic, behavior.override, replies))
    cdef object known = _behaviors.get(key)
    cdef behavior_t* built
    if known is not None:
        built = <behavior_t*><size_t>known
    else:
        if len(_behaviors) >= _behaviors_limit:
            _sweep_behaviors()
        built = _compile(behavior, sampling, replies, identity)
        _behaviors[key] = <size_t>built
    behavior_retain(built)
    return built


cdef int _sweep_behaviors() except -1:
    global _behaviors_limit
    # Nobody but this table refers to a table whose count is 1, and only this table could hand it out again.
    cdef object key, address
    cdef behavior_t* behavior
    for key, address in list(_behaviors.items()):
        behavior = <behavior_t*><size_t>address
        if references_count(&behavior.references) == 1:
            del _behaviors[key]
            behavior_release(behavior)
    _behaviors_limit = 2 * len(_behaviors) + BEHAVIORS_KEPT
    return 0


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


cdef uint32_t _guide_cells(Py_ssize_t knots) noexcept:
    cdef uint32_t cells = GUIDE_CELLS
    while cells < knots:
        cells *= 2
    return cells


# Hands out aligned pieces of the one allocation; counts when there is none yet.
cdef struct arena_t:
    char* base
    size_t used


cdef void* _take(arena_t* arena, size_t size) noexcept:
    cdef size_t at = arena.used
    arena.used = (at + size + 15) & ~<size_t>15
    return arena.base + at if arena.base != NULL else NULL


cdef behavior_t* _compile(object behavior, tuple sampling, tuple replies, bytes identity) except NULL:
    cdef arena_t arena = arena_t(base=NULL, used=0)
    cdef tuple healthy = sampling[2][0], tipping = sampling[2][1]
    cdef tuple tier
    for tier in (healthy, tipping):
        if sum([entry[1] for entry in tier]) > 2**62:
            raise ValueError("the resolutions of one tier add up to more than 2^62")
    _lay_out(&arena, behavior, sampling, replies, identity)
    arena.base = <char*>malloc(arena.used)
    if arena.base == NULL:
        raise MemoryError
    memset(arena.base, 0, arena.used)
    arena.used = 0
    _lay_out(&arena, behavior, sampling, replies, identity)
    return <behavior_t*>arena.base


# Writes everything when the arena has memory, and in any case takes what it needs of it.
cdef int _lay_out(arena_t* arena, object behavior, tuple sampling, tuple replies, bytes identity) except -1:
    cdef tuple healthy = sampling[2][0], tipping = sampling[2][1], entries = healthy + tipping
    cdef behavior_t* built = <behavior_t*>_take(arena, sizeof(behavior_t))
    cdef entry_t* table = <entry_t*>_take(arena, len(entries) * sizeof(entry_t))
    cdef tier_t first, second
    cdef Py_ssize_t i
    _lay_out_tier(arena, &first, 0, healthy)
    _lay_out_tier(arena, &second, len(healthy), tipping)
    for i in range(len(entries)):
        _lay_out_entry(arena, table + i if built != NULL else NULL, entries[i], replies[i], sampling[1] is not None)
    if built == NULL:
        return 0
    built.references = 1
    memcpy(built.identity, <const char*>identity, sizeof(built.identity))
    built.stateful = sampling[0] == "stateful"
    built.diagnostic = behavior.diagnostic
    built.override_upstream = behavior.override == "upstream_response"
    built.seeded = sampling[1] is not None
    if built.seeded:
        built.seed = <uint64_t>(sampling[1] & 0xFFFFFFFFFFFFFFFF)
    built.healthy = first
    built.tipping = second
    built.entry_count = <uint32_t>len(entries)
    built.entries = table
    _fill_load(&built.load, sampling[3])
    built.size = arena.used
    return 0


cdef int _fill_load(load_t* load, tuple parameters) except -1:
    load.active = len(parameters) > 0
    if load.active:
        load.healthy = parameters[0]
        load.tipping = parameters[1]
        load.per_endpoint = parameters[2] == "endpoint"
    load.grey = len(parameters) > 3
    if load.grey:
        load.penalty_base = parameters[3]
        load.spike_threshold = parameters[4]
        load.spike_multiplier = parameters[5]
        load.recovery_rate = parameters[6]
        load.spike_duration = parameters[7]
    return 0


cdef int _lay_out_tier(arena_t* arena, tier_t* tier, Py_ssize_t first, tuple entries) except -1:
    cdef uint64_t* cumulative = <uint64_t*>_take(arena, len(entries) * sizeof(uint64_t))
    cdef Py_ssize_t i
    tier.first = <uint32_t>first
    tier.count = <uint32_t>len(entries)
    tier.total = 0
    tier.cumulative = cumulative
    for i in range(len(entries)):
        tier.total += <uint64_t>entries[i][1]
        if cumulative != NULL:
            cumulative[i] = tier.total
    return 0


cdef int _lay_out_entry(arena_t* arena, entry_t* entry, tuple response, tuple reply, bint seeded) except -1:
    cdef list curve = _curve(response[2])
    cdef uint32_t cells = _guide_cells(len(curve))
    cdef knot_t* knots = <knot_t*>_take(arena, len(curve) * sizeof(knot_t))
    cdef uint32_t* guide = <uint32_t*>_take(arena, (cells + 1) * sizeof(uint32_t))
    cdef header_t* headers = <header_t*>_take(arena, len(reply[1]) * sizeof(header_t))
    cdef const char* body = _lay_out_bytes(arena, reply[0])
    cdef const char* name
    cdef const char* value
    cdef Py_ssize_t i
    for i in range(len(reply[1])):
        name = _lay_out_bytes(arena, reply[1][i][0])
        value = _lay_out_bytes(arena, reply[1][i][1])
        if headers != NULL:
            headers[i] = header_t(
                name=name, name_length=len(reply[1][i][0]), value=value, value_length=len(reply[1][i][1])
            )
            entry.reply.has_content_type |= reply[1][i][0].lower() == b"content-type"
    if entry == NULL:
        return 0
    entry.status = response[0]
    entry.grpc_status = grpc_status(entry.status)
    entry.curve = curve_t(knots=knots, guide=guide, cells=cells)
    _fill_curve(knots, guide, cells, curve)
    order_for(&entry.order, response[1], lane_bits_for(response[1], seeded))
    entry.reply.body = body
    entry.reply.body_length = len(reply[0])
    entry.reply.headers = headers
    entry.reply.header_count = len(reply[1])
    return 0


cdef const char* _lay_out_bytes(arena_t* arena, bytes value) noexcept:
    cdef char* at = <char*>_take(arena, len(value) + 1)
    if at != NULL:
        memcpy(at, <const char*>value, len(value))
    return at


cdef int _fill_curve(knot_t* knots, uint32_t* guide, uint32_t cells, list curve) except -1:
    cdef Py_ssize_t last = len(curve) - 1, i
    cdef uint32_t segment = 0, cell
    cdef double width
    for i in range(last + 1):
        knots[i] = knot_t(quantile=curve[i][0], value=<double>curve[i][1], slope=0.0)
    for i in range(last):
        width = knots[i + 1].quantile - knots[i].quantile
        knots[i].slope = (knots[i + 1].value - knots[i].value) / width
    knots[last].quantile = INFINITY  # no quantile leaves the last segment
    for cell in range(cells + 1):
        while <double>cell / cells >= knots[segment + 1].quantile:
            segment += 1
        guide[cell] = segment
    return 0
