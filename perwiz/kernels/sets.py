# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The sweep for several sets of calls at once: a lane per set, and times only of the vertices that later ones still need."""

import cython

from perwiz.kernels import names

GAP = cython.declare(cython.int, names.GAP)
ORDER = cython.declare(cython.int, names.ORDER)
START = cython.declare(cython.int, names.START)
LOCAL = cython.declare(cython.int, names.LOCAL)


def assign_slots(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    own: cython.Py_ssize_t,
    ends: cython.const[cython.int][::1],
    into: cython.const[cython.int][::1],
    into_ends: cython.const[cython.int][::1],
    out: cython.const[cython.int][::1],
    out_ends: cython.const[cython.int][::1],
    uses: cython.int[::1],
    free: cython.int[::1],
    slot: cython.int[::1],
) -> int:
    """Write to `slot` a row for the times of each vertex, and return how many rows there are; a row serves again when nobody needs it.

    Vertices from `own` on are swept in rounds, which end where `ends` says. Before each round the next of the vertices `into` are told, to
    where `into_ends` says, which are before `own`; behind it the next of `out` are given away. Others before `own` are at 0 and have row 0,
    as the origin, which stays. `uses` has the edges that leave each vertex, one for each time that it is given away, and one more where the
    time is read at the end; what it holds afterwards says nothing. `free` is room for a number per vertex.
    """
    rows: cython.int = 1
    idle: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    o: cython.Py_ssize_t = 0
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for v in range(own):
        slot[v] = 0
    v = own
    for r in range(len(ends)):
        begin: cython.Py_ssize_t = i
        while i < into_ends[r]:
            if idle > 0:
                idle -= 1
                slot[into[i]] = free[idle]
            else:
                slot[into[i]] = rows
                rows += 1
            i += 1
        for k in range(begin, i):
            if uses[into[k]] == 0:
                free[idle] = slot[into[k]]
                idle += 1
        while v < ends[r]:
            if idle > 0:
                idle -= 1
                slot[v] = free[idle]
            else:
                slot[v] = rows
                rows += 1
            for k in range(start[v], start[v + 1]):
                uses[source[k]] -= 1
                if uses[source[k]] == 0 and slot[source[k]] > 0:
                    free[idle] = slot[source[k]]
                    idle += 1
            if uses[v] == 0:
                free[idle] = slot[v]
                idle += 1
            v += 1
        while o < out_ends[r]:
            uses[out[o]] -= 1
            if uses[out[o]] == 0:
                free[idle] = slot[out[o]]
                idle += 1
            o += 1
    return rows


def last_uses(start: cython.const[cython.int][::1], source: cython.const[cython.int][::1], last: cython.int[::1]) -> None:
    """Write per vertex the last one that an edge leads to, the vertex itself if there is none."""
    for v in range(len(last)):
        last[v] = v
        for k in range(start[v], start[v + 1]):
            last[source[k]] = v


@cython.cfunc
@cython.exceptval(check=False)
def _clear_row(time: cython.longlong[:, ::1], row: cython.Py_ssize_t) -> cython.void:
    """Set a row to 0."""
    for j in range(time.shape[1]):
        time[row, j] = 0


@cython.cfunc
@cython.exceptval(check=False)
def _raise_lanes(
    time: cython.longlong[:, ::1], into: cython.Py_ssize_t, out: cython.Py_ssize_t, weight: cython.longlong, lanes: cython.int
) -> cython.void:
    """Raise row `into` to row `out` plus weight, in the lanes whose bit is not set."""
    for j in range(time.shape[1]):
        if not (lanes >> j) & 1:
            time[into, j] = max(time[into, j], time[out, j] + weight)


@cython.cfunc
@cython.exceptval(check=False)
def _raise_row(time: cython.longlong[:, ::1], into: cython.Py_ssize_t, out: cython.Py_ssize_t, weight: cython.longlong) -> cython.void:
    """Raise row `into` to row `out` plus weight."""
    for j in range(time.shape[1]):
        time[into, j] = max(time[into, j], time[out, j] + weight)


def load_times(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    slot: cython.const[cython.int][::1],
    known: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time: cython.longlong[:, ::1],
) -> None:
    """Write to every lane the known time of each vertex before a window, first .. end - 1, that an edge leads from into it."""
    k: cython.Py_ssize_t
    for v in range(first, end):
        for k in range(start[v], start[v + 1]):
            if source[k] < first:
                for j in range(time.shape[1]):
                    time[slot[source[k]], j] = known[source[k]]


def sweep_zero_wait(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    slot: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    lanes: cython.const[cython.int][::1],
    time: cython.longlong[:, ::1],
) -> None:
    """Sweep over a window; into vertex first + i, in the lanes that are bits of lanes[i], only edges of no partner bind."""
    k: cython.Py_ssize_t
    for v in range(first, first + len(lanes)):
        _clear_row(time, slot[v])
        for k in range(start[v], start[v + 1]):
            if lanes[v - first] == 0 or k == start[v] or kind[k] >= GAP:
                _raise_row(time, slot[v], slot[source[k]], weight[k])
            else:
                _raise_lanes(time, slot[v], slot[source[k]], weight[k], lanes[v - first])


def sweep_zero_time(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    slot: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    lanes: cython.const[cython.int][::1],
    time: cython.longlong[:, ::1],
) -> None:
    """Sweep over a window; into vertex first + i, in the lanes that are bits of lanes[i], only local edges, starts and orders bind.

    The first of them, starts and orders have no weight there.
    """
    k: cython.Py_ssize_t
    for v in range(first, first + len(lanes)):
        _clear_row(time, slot[v])
        for k in range(start[v], start[v + 1]):
            if lanes[v - first] == 0 or (k > start[v] and kind[k] == LOCAL):
                _raise_row(time, slot[v], slot[source[k]], weight[k])
            else:
                _raise_lanes(time, slot[v], slot[source[k]], weight[k], lanes[v - first])
                if k == start[v]:
                    _raise_lanes(time, slot[v], slot[source[k]], 0, ~lanes[v - first])
                elif kind[k] == START or kind[k] == ORDER:
                    _raise_lanes(time, slot[v], slot[source[k]], min(weight[k], 0), ~lanes[v - first])


def leave_window(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    slot: cython.const[cython.int][::1],
    left: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    time: cython.const[cython.longlong][:, ::1],
    best: cython.longlong[::1],
) -> None:
    """Raise `best` of each lane to the longest path along an edge that leaves a window.

    The window is the vertices first .. end - 1, `last` the last vertex that such an edge leads to; `left` is the longest path from a
    vertex to an end.
    """
    k: cython.Py_ssize_t
    for v in range(end, last + 1):
        for k in range(start[v], start[v + 1]):
            if first <= source[k] and source[k] < end:
                for j in range(len(best)):
                    best[j] = max(best[j], time[slot[source[k]], j] + weight[k] + left[v])
