# The plain values of a behaviour laid out in one allocation.

cdef enum:
    GUIDE_CELLS = 32  # at least; a power of two, so that a quantile's cell is exact


cdef uint32_t _guide_cells(Py_ssize_t knots) noexcept:
    cdef uint32_t cells = GUIDE_CELLS
    while cells < knots:
        cells *= 2
    return cells


cdef size_t _rounded(size_t size, size_t unit) noexcept:
    return (size + unit - 1) // unit * unit


# Hands out aligned pieces of the one allocation; counts when there is none yet.
cdef struct arena_t:
    char* base
    size_t used


cdef void* _take(arena_t* arena, size_t size) noexcept:
    cdef size_t at = arena.used
    arena.used = _rounded(at + size, 16)
    return arena.base + at if arena.base != NULL else NULL


cdef behavior_t* _compile(object shape) except NULL:
    cdef arena_t arena = arena_t(base=NULL, used=0)
    cdef tuple tier
    for tier in (shape.sampling.healthy, shape.sampling.tipping):
        if sum([entry.resolution for entry in tier]) > 2**62:
            raise ValueError("the resolutions of one tier add up to more than 2^62")
    _lay_out(&arena, shape)
    arena.base = <char*>aligned_alloc(CACHE_LINES, _rounded(arena.used, CACHE_LINES))
    if arena.base == NULL:
        raise MemoryError
    memset(arena.base, 0, arena.used)
    arena.used = 0
    try:
        _lay_out(&arena, shape)
    except BaseException:
        free(arena.base)
        raise
    return <behavior_t*>arena.base


# Writes everything when the arena has memory, and in any case takes what it needs of it.
cdef int _lay_out(arena_t* arena, object shape) except -1:
    cdef object sampling = shape.sampling, action = shape.action
    cdef tuple entries = sampling.healthy + sampling.tipping
    cdef behavior_t* built = <behavior_t*>_take(arena, sizeof(behavior_t))
    cdef bytes identity = _digest(sampling)
    cdef entry_t* table
    cdef tier_t first, second
    cdef Py_ssize_t i
    arena.used = _rounded(arena.used, CACHE_LINES)
    table = <entry_t*>_take(arena, len(entries) * sizeof(entry_t))
    _lay_out_tier(arena, &first, 0, sampling.healthy)
    _lay_out_tier(arena, &second, len(sampling.healthy), sampling.tipping)
    for i in range(len(entries)):
        _lay_out_entry(
            arena, table + i if built != NULL else NULL, entries[i], action.replies[i], sampling.seed is not None
        )
    if built == NULL:
        return 0
    built.references = 1
    memcpy(built.identity, <const char*>identity, sizeof(built.identity))
    built.stateful = sampling.distribution == "stateful"
    built.diagnostic = action.diagnostic
    built.override_upstream = action.override == "upstream_response"
    built.seeded = sampling.seed is not None
    if built.seeded:
        built.seed = <uint64_t>(sampling.seed & 0xFFFFFFFFFFFFFFFF)
    built.healthy = first
    built.tipping = second
    built.entry_count = <uint32_t>len(entries)
    built.entries = table
    if sampling.load is not None:
        _fill_load(&built.load, sampling.load)
    built.size = arena.used
    return 0


cdef int _fill_load(load_t* load, object source) except -1:
    cdef object grey = source.grey
    load.active = True
    load.healthy = source.healthy
    load.tipping = source.tipping
    load.per_endpoint = source.scope == "endpoint"
    load.grey = grey is not None
    if load.grey:
        load.penalty_base = grey.penalty_base
        load.spike_threshold = grey.spike_threshold
        load.spike_multiplier = grey.multiplier
        load.recovery_rate = grey.recovery_rate
        load.spike_duration = grey.spike_duration
    return 0


cdef int _lay_out_tier(arena_t* arena, tier_t* tier, Py_ssize_t first, tuple entries) except -1:
    cdef uint64_t* cumulative = <uint64_t*>_take(arena, len(entries) * sizeof(uint64_t))
    cdef Py_ssize_t i
    tier.first = <uint32_t>first
    tier.count = <uint32_t>len(entries)
    tier.total = 0
    tier.cumulative = cumulative
    for i in range(len(entries)):
        tier.total += <uint64_t>entries[i].resolution
        if cumulative != NULL:
            cumulative[i] = tier.total
    return 0


cdef int _lay_out_entry(arena_t* arena, entry_t* entry, object response, object reply, bint seeded) except -1:
    cdef list curve = _curve(response.points)
    cdef uint32_t cells = _guide_cells(len(curve))
    cdef knot_t* knots = <knot_t*>_take(arena, len(curve) * sizeof(knot_t))
    cdef uint32_t* guide = <uint32_t*>_take(arena, (cells + 1) * sizeof(uint32_t))
    cdef header_t* headers = <header_t*>_take(arena, len(reply.headers) * sizeof(header_t))
    cdef const char* body = _lay_out_bytes(arena, reply.body)
    cdef const char* name
    cdef const char* value
    cdef Py_ssize_t i
    for i in range(len(reply.headers)):
        name = _lay_out_bytes(arena, reply.headers[i][0])
        value = _lay_out_bytes(arena, reply.headers[i][1])
        if headers != NULL:
            headers[i] = header_t(
                name=name, name_length=len(reply.headers[i][0]), value=value, value_length=len(reply.headers[i][1])
            )
    if entry == NULL:
        return 0
    entry.status = response.status
    entry.grpc_status = grpc_status(entry.status)
    for header, content in reply.headers:
        entry.reply.has_content_type |= header.lower() == b"content-type"
        if header.lower() == b"grpc-status":
            entry.reply.has_grpc_status = True
            if content.isdigit() and len(content) <= 3:
                entry.grpc_status = int(content)
    for i in range(len(reply.headers)):
        if reply.headers[i][0].lower() == b"grpc-message":
            entry.reply.grpc_message = headers + i
    entry.curve = curve_t(knots=knots, guide=guide, cells=cells)
    _fill_curve(knots, guide, cells, curve)
    order_for(&entry.order, response.resolution, lane_bits_for(response.resolution, seeded))
    entry.reply.body = body
    entry.reply.body_length = len(reply.body)
    entry.reply.headers = headers
    entry.reply.header_count = len(reply.headers)
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
