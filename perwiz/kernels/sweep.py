# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The sweep: the earliest time of every vertex, one pass in topological order. And what is read off it."""

import cython

from perwiz.kernels import names

GAP = cython.declare(cython.int, names.GAP)
TRANSFER = cython.declare(cython.int, names.TRANSFER)


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time: cython.longlong[::1],
) -> None:
    """Raise `time` of the vertices first .. end - 1 to the largest time of a source plus weight; what `time` holds before is a floor."""
    with cython.nogil:
        for v in range(first, end):
            best = time[v]
            for k in range(start[v], start[v + 1]):
                t = time[source[k]] + weight[k]
                if t > best:
                    best = t
            time[v] = best


def sweep_ends(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    slot: cython.const[cython.int][::1],
    begun: cython.const[cython.int][::1],
    ended: cython.const[cython.int][::1],
    time: cython.longlong[::1],
    first: cython.longlong[::1],
    last: cython.longlong[::1],
) -> None:
    """Write to `first` and `last` the times of the vertices `begun` and `ended`, both sorted, in a sweep from 0 on.

    `time` has room for each vertex that is still needed, its `slot`. The origin, vertex 0, is at 0.
    """
    b: cython.Py_ssize_t = 0
    e: cython.Py_ssize_t = 0
    with cython.nogil:
        time[slot[0]] = 0
        for v in range(1, len(slot)):
            best: cython.longlong = 0
            for k in range(start[v], start[v + 1]):
                t = time[slot[source[k]]] + weight[k]
                if t > best:
                    best = t
            time[slot[v]] = best
            if b < len(begun) and begun[b] == v:
                first[b] = best
                b += 1
            if e < len(ended) and ended[e] == v:
                last[e] = best
                e += 1


def sweep_parts(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    part: cython.const[cython.longlong][::1],
    held: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time: cython.longlong[::1],
) -> None:
    """Do as `sweep`, but take the time of a source of another part than the vertex's from `held`."""
    with cython.nogil:
        for v in range(first, end):
            best = time[v]
            for k in range(start[v], start[v + 1]):
                s = source[k]
                t = (time[s] if part[s] == part[v] else held[s]) + weight[k]
                if t > best:
                    best = t
            time[v] = best


def sweep_back(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    left: cython.longlong[::1],
) -> None:
    """Raise `left` of each source of the vertices first .. end - 1 to the largest `left` of one it leads to, plus weight; `cut` is no path,
    and no edge.
    """
    k: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for v in range(end - 1, first - 1, -1):
            if left[v] == cut:
                continue
            for k in range(start[v], start[v + 1]):
                t = left[v] + weight[k]
                if weight[k] != cut and t > left[source[k]]:
                    left[source[k]] = t


def find_critical_path(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
    last: cython.Py_ssize_t,
    path: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write the edges of a longest path into the vertex `last`, its end first, and return how many; of equally long ones the first edge.

    It ends where no edge explains a vertex's time: at the origin, or at a vertex with a floor.
    """
    count: cython.Py_ssize_t = 0
    v: cython.Py_ssize_t = last
    explained: cython.bint = True
    with cython.nogil:
        while explained:
            explained = False
            for k in range(start[v], start[v + 1]):
                if time[source[k]] + weight[k] == time[v]:
                    path[count] = k
                    count += 1
                    v = source[k]
                    explained = True
                    break
    return count


def time_hubs(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    hub: cython.const[cython.int][::1],
    time: cython.longlong[::1],
) -> None:
    """Set `time` of the listed vertices, in order, to the latest time of a source plus weight."""
    with cython.nogil:
        for i in range(len(hub)):
            latest = time[source[start[hub[i]]]] + weight[start[hub[i]]]
            for k in range(start[hub[i]] + 1, start[hub[i] + 1]):
                if time[source[k]] + weight[k] > latest:
                    latest = time[source[k]] + weight[k]
            time[hub[i]] = latest


def inherit_owner(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    hub: cython.const[cython.int][::1],
    time: cython.const[cython.longlong][::1],
    owner: cython.int[::1],
) -> None:
    """Set `owner` of the listed vertices, in order, to that of their latest source; of equally late ones the first."""
    with cython.nogil:
        for i in range(len(hub)):
            last = start[hub[i]]
            for k in range(start[hub[i]] + 1, start[hub[i] + 1]):
                if owner[source[k]] >= 0 and (owner[source[last]] < 0 or time[source[k]] > time[source[last]]):
                    last = k
            owner[hub[i]] = owner[source[last]]


def measure_waits(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
    returning: cython.const[cython.int][::1],
    owner: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    wait: cython.longlong[::1],
    partner: cython.int[::1],
) -> None:
    """Write, of the vertices first .. end - 1 where a call is `returning` (-1: none), how long partners keep each call beyond its local
    edge, and the `owner` of the vertex that the last of them comes from, -1 if there is none.

    Gaps are no partner, and what a call's own transfer takes, or what begins it, is no wait.
    """
    with cython.nogil:
        for v in range(first, end):
            call = returning[v]
            if call < 0:
                continue
            k = start[v]
            ready = time[source[k]] + weight[k]
            for k in range(start[v] + 1, start[v + 1]):
                if kind[k] >= TRANSFER and time[source[k]] + weight[k] > ready:
                    ready = time[source[k]] + weight[k]
            longest: cython.longlong = 0
            last: cython.int = -1
            for k in range(start[v] + 1, start[v + 1]):
                t = time[source[k]] + weight[k]
                if kind[k] < GAP and t - ready > longest:
                    longest = t - ready
                    last = owner[source[k]]
            wait[call] = longest
            partner[call] = last


def put_times(vertex: cython.const[cython.int][::1], values: cython.const[cython.longlong][::1], time: cython.longlong[::1]) -> None:
    """Write the times of some vertices."""
    with cython.nogil:
        for i in range(len(vertex)):
            time[vertex[i]] = values[i]


def put_rows(vertex: cython.const[cython.int][::1], row: cython.int[::1]) -> None:
    """Write for each of some vertices which of them it is."""
    with cython.nogil:
        for i in range(len(vertex)):
            row[vertex[i]] = cython.cast(cython.int, i)


def spread_times(
    time: cython.const[cython.longlong][::1],
    entering: cython.const[cython.int][::1],
    returning: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    enter: cython.longlong[::1],
    leave: cython.longlong[::1],
) -> None:
    """Write when the calls are entered and left that are `entering` or `returning` at the vertices first .. end - 1 (-1: none)."""
    with cython.nogil:
        for v in range(first, end):
            if entering[v] >= 0:
                enter[entering[v]] = time[v]
            elif returning[v] >= 0:
                leave[returning[v]] = time[v]
