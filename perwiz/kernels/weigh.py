# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Splitting recorded durations: the part the partners' times explain becomes the weight of their edges, the rest stays work."""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _fit(lag: cython.longlong, slack: cython.longlong, kind: cython.int, misfit: cython.longlong[::1]) -> cython.longlong:
    """Return the lag the recording allows: the model's, a smaller one, or that of a violation (negative); count which it was."""
    misfit[2 * kind] += 1
    if lag <= slack:
        return lag
    misfit[2 * kind + 1] += 1
    if slack < 0:
        misfit[12] += 1
    return slack


def split(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    time: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    weight: cython.longlong[::1],
    misfit: cython.longlong[::1],
) -> None:
    """Turn the model's lags in `weight` into weights under which a sweep gives back `time`, exactly.

    On entry: lag per edge, `cut` for edges to leave out; for the local edge into a call's return, the lag of its own request.
    `misfit[2 k]` counts the edges of kind k into returns, `misfit[2 k + 1]` those whose lag was lowered, kind 0 being the requests
    of synchronous senders; `misfit[12]` counts negative
    ones, `misfit[13]` rendezvous edges (kind 2) cut because the sender returned before its receiver was there. An edge into a probe
    (kind 5) that returned before the message was sent is cut too: it found another.
    A vertex whose first edge is not local is a hub and keeps its weights.
    """
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    ready: cython.longlong
    slack: cython.longlong
    rest: cython.longlong
    for v in range(1, len(time)):
        k = start[v]
        if kind[k] != 0:
            continue
        slack = time[v] - time[source[k]]
        if weight[k] > 0:
            misfit[0] += 1
            misfit[1] += weight[k] > slack
        if weight[k] > slack:
            weight[k] = slack
        if start[v + 1] - k == 1:
            weight[k] = slack
            continue
        ready = time[source[k]] + weight[k]
        for k in range(start[v] + 1, start[v + 1]):
            slack = time[v] - time[source[k]]
            if (kind[k] == 2 or kind[k] == 5) and slack < 0 and weight[k] != cut:
                weight[k] = cut
                misfit[13] += kind[k] == 2
            if weight[k] == cut:
                continue
            weight[k] = _fit(weight[k], slack, kind[k], misfit)
            if kind[k] != 4 and time[source[k]] + weight[k] > ready:
                ready = time[source[k]] + weight[k]
        rest = time[v] - ready
        for k in range(start[v], start[v + 1]):
            if weight[k] != cut and kind[k] != 4:
                weight[k] += rest


def release(
    start: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    vertex: cython.const[cython.int][::1],
    spared: cython.int,
    cut: cython.longlong,
    weight: cython.longlong[::1],
) -> None:
    """Set to `cut` the weight of every edge but the local one into the listed vertices; edges of kind `spared` stay."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(len(vertex)):
        for k in range(start[vertex[i]] + 1, start[vertex[i] + 1]):
            if kind[k] != spared:
                weight[k] = cut
