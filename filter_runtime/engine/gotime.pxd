# cython: cdivision=True
# Durations in Go's text form (`time.Duration.String`): 52.3ms, 953.946µs, 1.5s, 1h2m3.5s, 0s.

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DURATION_SIZE = 32  # the longest is -2562047h47m16.854775808s

# Writes decimal digits of `value` so that they end before `at`; returns where they start.
cdef inline char* _digits(char* at, uint64_t value) noexcept nogil:
    while True:
        at -= 1
        at[0] = <char>(48 + value % 10)
        value //= 10
        if value == 0:
            return at

# The same for value / 10^places, without trailing zeros.
cdef inline char* _decimal(char* at, uint64_t value, int places) noexcept nogil:
    cdef bint printing = False
    cdef uint64_t digit
    cdef int i
    for i in range(places):
        digit = value % 10
        value //= 10
        printing = printing or digit != 0
        if printing:
            at -= 1
            at[0] = <char>(48 + digit)
    if printing:
        at -= 1
        at[0] = c"."
    return _digits(at, value)

# Writes the text (UTF-8, at most DURATION_SIZE bytes, no NUL) and returns its length.
cdef inline Py_ssize_t format_duration(int64_t ns, char* buffer) noexcept nogil:
    cdef char text[DURATION_SIZE]
    cdef char* end = text + DURATION_SIZE
    cdef char* at = end - 1
    cdef uint64_t magnitude = <uint64_t>ns if ns >= 0 else -<uint64_t>ns
    cdef uint64_t minutes
    at[0] = c"s"
    if magnitude == 0:
        at = _digits(at, 0)
    elif magnitude < 1000:
        at -= 1
        at[0] = c"n"
        at = _digits(at, magnitude)
    elif magnitude < 1000000:
        at -= 2
        at[0] = <char>0xC2  # U+00B5 MICRO SIGN
        at[1] = <char>0xB5
        at = _decimal(at, magnitude, 3)
    elif magnitude < 1000000000:
        at -= 1
        at[0] = c"m"
        at = _decimal(at, magnitude, 6)
    else:
        minutes = magnitude // <uint64_t>60000000000
        at = _decimal(at, magnitude % <uint64_t>60000000000, 9)
        if minutes:
            at -= 1
            at[0] = c"m"
            at = _digits(at, minutes % 60)
            if minutes >= 60:
                at -= 1
                at[0] = c"h"
                at = _digits(at, minutes // 60)
    if ns < 0:
        at -= 1
        at[0] = c"-"
    memcpy(buffer, at, end - at)
    return end - at
