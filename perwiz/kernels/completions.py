# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Which call completes a request whose completion was not recorded."""

import cython

from perwiz.kernels import records

WAITS_FOR_ONE = cython.declare(cython.int, records.WAITS_FOR_ONE)
WAITS_FOR_ALL = cython.declare(cython.int, records.WAITS_FOR_ALL)
ANY = cython.declare(cython.int, 2)
"""A Waitall takes any requests; 1, sends alone; 0, receives alone."""


def later_waits(
    location: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    first: cython.const[cython.int][::1],
    left: cython.int[::1],
) -> None:
    """Write to `left` how many waits for one follow each call before the next that waits for all or posts (`first[e] < first[e + 1]`)."""
    count: cython.int = 0
    for e in range(len(left) - 1, -1, -1):
        if e + 1 < len(left) and location[e + 1] != location[e]:
            count = 0
        left[e] = count
        if kind[e] == WAITS_FOR_ONE:
            count += 1
        elif kind[e] == WAITS_FOR_ALL or first[e + 1] > first[e]:
            count = 0


def infer(
    location: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    first: cython.const[cython.int][::1],
    left: cython.const[cython.int][::1],
    sends: cython.const[cython.uchar][::1],
    by: cython.int[::1],
    waiting: cython.int[::1],
) -> None:
    """Write to `by` the call that completes each request, posted by call e if in first[e] .. first[e + 1] - 1; `waiting` is room."""
    begin: cython.int = 0
    end: cython.int = 0
    sending: cython.int = 0
    for e in range(len(kind)):
        if e > 0 and location[e] != location[e - 1]:
            begin, end, sending = 0, 0, 0
        if kind[e] == WAITS_FOR_ONE and end > begin:
            by[waiting[begin]] = cython.cast(cython.int, e)
            sending -= sends[waiting[begin]]
            begin += 1
        elif kind[e] == WAITS_FOR_ALL and end - begin > left[e]:
            take = end - begin - left[e]
            which = 1 if take == sending else (0 if take == end - begin - sending else ANY)
            kept = begin
            for k in range(begin, end):
                r = waiting[k]
                if take > 0 and (which == ANY or sends[r] == which):
                    by[r] = cython.cast(cython.int, e)
                    take -= 1
                    sending -= sends[r]
                else:
                    waiting[kept] = r
                    kept += 1
            end = kept
        for r in range(first[e], first[e + 1]):
            waiting[end] = r
            end += 1
            sending += sends[r]
