# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Runs drawn anew: how much longer each of their stretches takes, and the sweep over several of them at once."""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

NEVER = cython.declare(cython.double, -1e300)


def turn(
    pool: cython.const[cython.longlong][::1],
    part: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    behind: cython.const[cython.int][:, ::1],
    deviation: cython.const[cython.double][::1],
    source: cython.const[cython.longlong][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Write per stretch and draw the deviation of another stretch of its pool: in part `source` of the run, a row per part, or next to it.

    `behind` has per part and pool the first stretch not before it; if that is of another pool, it is the `first` of this one.
    """
    with cython.nogil:
        for i in range(len(pool)):
            p = pool[i]
            for j in range(out.shape[1]):
                to: cython.longlong = behind[source[part[i], j], p]
                out[i, j] = deviation[to if to < first[p + 1] else first[p]]


def shares(
    gaps: cython.Py_ssize_t,
    vertex: cython.const[cython.int][::1],
    piece: cython.const[cython.int][::1],
    told: cython.const[cython.uchar][::1],
    length: cython.const[cython.longlong][::1],
    group: cython.const[cython.int][::1],
    usual: cython.const[cython.double][::1],
    start: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    times: cython.const[cython.double][::1],
    place: cython.const[cython.longlong][::1],
    common: cython.double,
    whole: cython.float[::1],
    stretch: cython.int[::1],
    more: cython.float[::1],
    share: cython.float[::1],
) -> None:
    """Write per vertex of some pieces: how long it took, ns, whose deviation it has, how much longer it takes anyway, and its share of it.

    The first `gaps` pieces compute and took their `length`; others took what the first edge into the vertex weighs. A piece is in a
    stretch that takes so many `times` as long as usual, or behind all of these seldom, -1 if it is not drawn; `place` says which deviation
    that is. The share of one that is told is its length without what its stretch took longer, or if that took none what is `usual` of its
    group; of what is seldom it is the length, or the geometric mean of that and what computation has in `common` if that is less. What
    took no time is not later.
    """
    with cython.nogil:
        for p in range(len(vertex)):
            v = vertex[p]
            s = piece[p]
            took: cython.longlong = length[p] if p < gaps else weight[start[v]]
            whole[v] = took
            stretch[v] = place[s] if s >= 0 else -1
            lasted: cython.double = length[p]
            later: cython.double = 0
            part: cython.double = lasted
            if took == 0:
                part = 0
            elif told[p]:
                part = lasted / times[s] if times[s] > 0 else usual[group[p]]
                later = part - lasted
            elif s >= len(times):
                part = sqrt(lasted * min(lasted, common))
            more[v] = later
            share[v] = part


def place(
    start: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    vertex: cython.const[cython.int][::1],
    recorded: cython.const[cython.int][::1],
    bounded: cython.bint,
    whole: cython.const[cython.float][::1],
    stretch: cython.const[cython.int][::1],
    more: cython.const[cython.float][::1],
    share: cython.const[cython.float][::1],
    later: cython.float[::1],
    part: cython.float[::1],
) -> None:
    """Write per listed vertex what `sweep` takes: the `more` and `share` of the vertex that it is in the `recorded` run, if that is drawn.

    They are in proportion to the weight of the first edge into it, which was `whole` then, ns; if `bounded` not more than recorded. Where
    that was 0 nothing is later.
    """
    with cython.nogil:
        for i in range(len(vertex)):
            v = vertex[i]
            p = recorded[i]
            if stretch[p] >= 0 and whole[p] != 0:
                w: cython.float = weight[start[v]]
                scale: cython.double = w / max(whole[p], 1)
                if bounded and scale > 1:
                    scale = 1.0
                later[v] = more[p] * scale
                part[v] = share[p] * scale


def unchanged(
    start: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    stretch: cython.const[cython.int][::1],
    whole: cython.const[cython.float][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> bool:
    """Return whether the first edges into some vertices weigh what they did in the recorded run, `whole`, as far as these are drawn."""
    same: cython.bint = True
    with cython.nogil:
        for v in range(begin, end):
            w: cython.float = weight[start[v]]
            if stretch[v] >= 0 and w != whole[v]:
                same = False
                break
    return same


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    row: cython.const[cython.int][::1],
    more: cython.const[cython.float][::1],
    share: cython.const[cython.float][::1],
    deviation: cython.const[cython.double][:, ::1],
    slot: cython.const[cython.int][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    first: cython.const[cython.int][::1],
    last: cython.const[cython.int][::1],
    time: cython.double[:, ::1],
    earliest: cython.double[::1],
    latest: cython.double[::1],
) -> None:
    """Make `earliest` and `latest` those, too, of some vertices from `begin` to before `end`, both sorted, in as many runs at once, sixteen
    or a multiple.

    A vertex with a row of `deviation`, not -1, is later by `more` and `share` times the deviation of the run. Nothing comes before 0.
    `time` has a row for each vertex that is still needed, its `slot`; a column for each run, as has `deviation`, and there may be more.
    """
    best = cython.declare(cython.double[16])
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    runs: cython.Py_ssize_t = len(earliest)
    stop: cython.Py_ssize_t = begin
    begun: cython.Py_ssize_t = 0
    ended: cython.Py_ssize_t = 0
    with cython.nogil:
        while stop < end:
            at_first: cython.Py_ssize_t = first[begun] if begun < len(first) else end
            at_last: cython.Py_ssize_t = last[ended] if ended < len(last) else end
            begin, stop = stop, min(at_first, at_last, end - 1) + 1
            for v in range(begin, stop):
                at = row[v]
                for i in range(0, runs, 16):
                    for j in range(16):
                        best[j] = NEVER
                    for k in range(start[v], start[v + 1]):
                        u = slot[source[k]]
                        w: cython.double = weight[k]
                        for j in range(16):
                            best[j] = max(best[j], time[u, i + j] + w)
                    if at >= 0:
                        a: cython.double = more[v]
                        b: cython.double = share[v]
                        for j in range(16):
                            best[j] += a + b * deviation[at, i + j]
                    u = slot[v]
                    for j in range(16):
                        time[u, i + j] = max(best[j], 0.0)
            u = slot[stop - 1]
            if at_first == stop - 1:
                begun += 1
                for j in range(runs):
                    earliest[j] = min(earliest[j], time[u, j])
            if at_last == stop - 1:
                ended += 1
                for j in range(runs):
                    latest[j] = max(latest[j], time[u, j])
