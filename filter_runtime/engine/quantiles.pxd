# cython: cdivision=True
# A latency distribution: piecewise linear in the quantile.
#
# Below the first percentile key the curve runs from 0 to its value, above the last on to twice its value at
# the 100th; both ends are knots of the compiled curve, so every quantile in [0, 1) lies in a segment.

from libc.stdint cimport INT64_MAX, int64_t, uint32_t

cdef struct knot_t:
    double quantile  # where the segment starts; +inf closes the last one
    double value  # nanoseconds there
    double slope  # nanoseconds per unit of quantile

cdef struct curve_t:
    const knot_t* knots
    const uint32_t* guide  # the segment in which each of `cells` equal steps of the quantile starts
    double cells

cdef inline int64_t to_nanoseconds(double value) noexcept nogil:
    """Round a non-negative duration to the nanosecond; what exceeds 64 bits becomes the greatest one."""
    if value >= 9223372036854774784.0:
        return INT64_MAX
    return <int64_t>(value + 0.5)

cdef inline double latency_at(const curve_t* curve, double quantile) noexcept nogil:
    """Return the latency in nanoseconds at a quantile in [0, 1]."""
    cdef uint32_t cell = <uint32_t>(quantile * curve.cells)
    cdef const knot_t* knot = curve.knots + curve.guide[cell]
    while quantile >= knot[1].quantile:
        knot += 1
    return knot.value + (quantile - knot.quantile) * knot.slope
