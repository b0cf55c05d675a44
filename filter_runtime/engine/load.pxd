# cython: cdivision=True
# Load-based behaviour: which tier serves, and the grey zone's penalty with its spike and recovery.
#
# Seed, "Grey Zone Transitions". In the grey zone (healthy < in-flight < tipping):
#   position = (in_flight - healthy) / (tipping - healthy)
#   penalty  = penalty_base * position                                    without a spike
#            = penalty_base * position * multiplier                       while position >= spike_threshold
#            = penalty_base * position * multiplier
#                * (1 - elapsed / spike_penalty_duration * recovery_rate)  for spike_penalty_duration after
#                                                                         the first observed drop below
# Every observation moves the spike, in every tier; only those in the grey zone pay.

from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint64_t

from filter_runtime.engine.atomic cimport exchange_if, load_signed, store_signed

cdef struct load_t:
    bint active  # the behaviour is `load_based`
    bint per_endpoint  # `scope: endpoint`: in-flight counts this endpoint's requests, not the process's
    bint grey  # there is a `grey_zone`
    int64_t healthy  # threshold_in_flight
    int64_t tipping  # threshold_in_flight, greater
    double penalty_base  # ns
    double spike_threshold
    double spike_multiplier
    double recovery_rate
    int64_t spike_duration  # ns

# The spike is one word: nothing, a spike that goes on, or the time (monotonic ns) its recovery began.
cdef extern from *:
    """
    #define BROWNOUT_SPIKE_NONE INT64_MIN
    #define BROWNOUT_SPIKE_ACTIVE INT64_MAX
    """
    const int64_t SPIKE_NONE "BROWNOUT_SPIKE_NONE"
    const int64_t SPIKE_ACTIVE "BROWNOUT_SPIKE_ACTIVE"

cdef inline double position_of(const load_t* load, int64_t in_flight) noexcept nogil:
    """Return where the load lies: 0 at the healthy threshold, 1 at the tipping point, clamped to both."""
    if in_flight <= load.healthy:
        return 0.0
    if in_flight >= load.tipping:
        return 1.0
    return <double>(in_flight - load.healthy) / <double>(load.tipping - load.healthy)

cdef inline double observe(const load_t* load, int64_t* spike, double position, int64_t now_ns) noexcept nogil:
    """Move the spike by one observation and return the factor on the base penalty.

    Lock-free: a worker that loses a race looks at what the winner left, which ends after one more round
    unless the load crosses the threshold again meanwhile.
    """
    cdef int64_t word = load_signed(spike)
    cdef int64_t elapsed
    if position >= load.spike_threshold:
        if word != SPIKE_ACTIVE:
            store_signed(spike, SPIKE_ACTIVE)
        return load.spike_multiplier
    while word != SPIKE_NONE:
        if word == SPIKE_ACTIVE:
            if load.spike_duration == 0:
                if exchange_if(spike, &word, SPIKE_NONE):
                    return 1.0
            elif exchange_if(spike, &word, now_ns):
                return load.spike_multiplier
            continue
        elapsed = now_ns - word
        if elapsed < load.spike_duration:
            if elapsed < 0:  # another worker read its clock later and got here first
                elapsed = 0
            return load.spike_multiplier * (1.0 - <double>elapsed / <double>load.spike_duration * load.recovery_rate)
        if exchange_if(spike, &word, SPIKE_NONE):
            return 1.0
    return 1.0
