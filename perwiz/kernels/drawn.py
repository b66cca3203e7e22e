# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Runs drawn anew: how much longer each of their stretches takes, and the sweep over several of them at once."""

import cython

NEVER = cython.declare(cython.double, -1e300)


def turn(
    pool: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    kin: cython.const[cython.longlong][::1],
    kins: cython.const[cython.longlong][::1],
    deviation: cython.const[cython.double][::1],
    later: cython.const[cython.double][:, ::1],
    other: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Write per stretch and draw the deviation of another stretch: `later` in the run, of an `other` pool of those alike.

    Both are parts of the whole, 0 to 1, a row for each part of the run; what is beyond the end goes on at the begin.
    """
    for i in range(len(pool)):
        p = pool[i]
        place = i - first[p]
        several = first[p + 1] - first[p]
        part = place * len(later) // several
        at: cython.double = (place + 0.5) / several
        for j in range(out.shape[1]):
            source = p + cython.cast(cython.longlong, other[part, j] * kins[p])
            if source >= kin[p] + kins[p]:
                source -= kins[p]
            count = first[source + 1] - first[source]
            to = cython.cast(cython.longlong, (at + later[part, j]) * count)
            if to >= count:
                to -= count
            out[i, j] = deviation[first[source] + to]


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    row: cython.const[cython.int][::1],
    more: cython.const[cython.double][::1],
    share: cython.const[cython.double][::1],
    deviation: cython.const[cython.double][:, ::1],
    time: cython.double[:, ::1],
) -> None:
    """Write into `time`, per vertex and run, the earliest time in several runs at once, a column each.

    A vertex with a row of `deviation`, not -1, is later by `more` and `share` times the deviation of the run. Nothing comes before 0.
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for v in range(len(row)):
        at = row[v]
        end = start[v + 1]
        for j in range(time.shape[1]):
            best = NEVER
            for k in range(start[v], end):
                best = max(best, time[source[k], j] + weight[k])
            if at >= 0:
                best += more[v] + share[v] * deviation[at, j]
            time[v, j] = max(best, 0.0)
