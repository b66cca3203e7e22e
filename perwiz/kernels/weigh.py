# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Splitting recorded durations: the part the partners' times explain becomes the weight of their edges, the rest stays work."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

LOCAL = cython.declare(cython.int, names.LOCAL)
RENDEZVOUS = cython.declare(cython.int, names.RENDEZVOUS)
GAP = cython.declare(cython.int, names.GAP)
PROBE = cython.declare(cython.int, names.PROBE)
INJECTION = cython.declare(cython.int, names.INJECTION)
EJECTION = cython.declare(cython.int, names.EJECTION)
QUEUE = cython.declare(cython.int, names.QUEUE)
WHOLE = cython.declare(cython.double, 4503599627370496.0)
"""From this size on a double has no part of one; a smaller one has none once it is added and taken off: what is halfway goes to even."""

Fit = cython.struct(edges=cython.longlong, lowered=cython.longlong, violations=cython.longlong, returned_before=cython.longlong)
FIT = np.dtype([("edges", "i8"), ("lowered", "i8"), ("violations", "i8"), ("returned_before", "i8")])
"""Per kind of edges into returns, LOCAL standing for the requests of synchronous senders: how many, those whose lag was lowered, those
whose effect was recorded before its cause, and those cut because the sender returned before its receiver was there."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fit(lag: cython.longlong, slack: cython.longlong, fits: Fit[::1], kind: cython.int) -> cython.longlong:
    """Return the lag the recording allows: the model's, a smaller one, or that of a violation (negative); count which it was."""
    fits[kind].edges += 1
    if lag <= slack:
        return lag
    fits[kind].lowered += 1
    if slack < 0:
        fits[kind].violations += 1
    return slack


def split(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    time: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    weight: cython.longlong[::1],
    fits: Fit[::1],
) -> None:
    """Turn the model's lags in `weight` into weights under which a sweep gives back `time`, exactly; count in `fits` by kind of edge.

    On entry: lag per edge, `cut` for edges to leave out; for the local edge into a call's return, the lag of its own request. A
    rendezvous edge is cut if the sender returned before its receiver was there, an edge into a probe if that returned before the message
    was sent: it found another. A vertex whose first edge is not local is a hub and keeps its weights.
    """
    with cython.nogil:
        k: cython.Py_ssize_t
        for v in range(1, len(time)):
            k = start[v]
            if kind[k] != LOCAL:
                continue
            slack = time[v] - time[source[k]]
            if weight[k] > 0:
                fits[LOCAL].edges += 1
                fits[LOCAL].lowered += weight[k] > slack
            if weight[k] > slack:
                weight[k] = slack
            if start[v + 1] - k == 1:
                weight[k] = slack
                continue
            ready = time[source[k]] + weight[k]
            for k in range(start[v] + 1, start[v + 1]):
                slack = time[v] - time[source[k]]
                if (kind[k] == RENDEZVOUS or kind[k] == PROBE) and slack < 0 and weight[k] != cut:
                    weight[k] = cut
                    fits[kind[k]].returned_before += 1
                if weight[k] == cut:
                    continue
                weight[k] = _fit(weight[k], slack, fits, kind[k])
                if kind[k] != GAP and time[source[k]] + weight[k] > ready:
                    ready = time[source[k]] + weight[k]
            rest = time[v] - ready
            for k in range(start[v], start[v + 1]):
                if weight[k] != cut and kind[k] != GAP:
                    weight[k] += rest


def cut_incoming(
    start: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    vertex: cython.const[cython.int][::1],
    spared: cython.int,
    cut: cython.longlong,
    weight: cython.longlong[::1],
) -> None:
    """Set to `cut` the weight of every edge but the local one into the listed vertices; edges of kind `spared` and behind it stay."""
    with cython.nogil:
        for i in range(len(vertex)):
            for k in range(start[vertex[i]] + 1, start[vertex[i] + 1]):
                if kind[k] < spared:
                    weight[k] = cut


def rest(
    start: cython.const[cython.int][::1],
    returning: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    lag: cython.const[cython.longlong][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Write to `out` the work of each call behind its waits: the weight of its local edge, without its own lag, which it does not outlast.

    Vertices are read in the order of memory; `returning` is the call that returns there, -1 of others.
    """
    with cython.nogil:
        for v in range(len(returning)):
            call = returning[v]
            if call >= 0:
                k = start[v]
                out[call] = weight[k] - min(lag[k], leave[call] - enter[call])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scaled(value: cython.longlong, old: cython.longlong, new: cython.longlong) -> cython.longlong:
    """Return value * new / old, rounded once, half to even; value + new where the old model had nothing to say."""
    out: cython.double
    if old > 0:
        ratio: cython.double = new
        ratio /= old
        out = value * ratio
        if 0 <= out < WHOLE:
            out = (out + WHOLE) - WHOLE
        elif -WHOLE < out < 0:
            out = (out - WHOLE) + WHOLE
    else:
        out = value + new
    return cython.cast(cython.longlong, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _found(edge: cython.const[cython.int][::1], k: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the place of edge k among some, or of the next one behind it, from a place on that is not behind that."""
    while at < len(edge) and edge[at] < k:
        at += 1
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lag(
    edge: cython.const[cython.int][::1], lag: cython.const[cython.longlong][::1], k: cython.Py_ssize_t, at: cython.Py_ssize_t
) -> cython.longlong:
    """Return the lag of edge k, given the place where it would be; 0 if it is not there."""
    return lag[at] if at < len(edge) and edge[at] == k else 0


def reweigh(
    start: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    cause: cython.const[cython.int][::1],
    returning: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    edge: cython.const[cython.int][::1],
    before: cython.const[cython.longlong][::1],
    worked: cython.const[cython.longlong][::1],
    works: cython.const[cython.longlong][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    let_go: cython.const[cython.uchar][::1],
    cut: cython.longlong,
    lag: cython.longlong[::1],
) -> None:
    """Replace the lags of another model in `lag` by weights, given the `weight` of the measured run, its lags `before` that are not 0, each
    with its `edge`, ascending, and per call what its model says of work, `worked`, and the other, `works`.

    An edge weighs its lag and the work behind it; both change each by its own ratio:

        measured 70, rest 20 -> 30, lag of the model 100 -> 150      so its lag was 50, becomes 75, and the edge weighs 105

    `returning` is the call that returns at each vertex, -1 of others. An edge that was cut though the model did not say so stays cut; and
    all rendezvous edges do of messages that `let_go` lists, if it is that long.
    """
    with cython.nogil:
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        held: cython.bint = len(let_go) > 0
        for v in range(len(returning)):
            call = returning[v]
            if call < 0:
                for k in range(start[v], start[v + 1]):
                    if kind[k] == GAP:
                        at = _found(edge, k, at)
                        lag[k] = _scaled(weight[k], _lag(edge, before, k, at), lag[k])
                    elif kind[k] != INJECTION and kind[k] != EJECTION and kind[k] != QUEUE:
                        lag[k] = weight[k]
                continue
            k = start[v]
            at = _found(edge, k, at)
            old: cython.longlong = _lag(edge, before, k, at)
            own: cython.longlong = min(old, leave[call] - enter[call])
            rest: cython.longlong = weight[k] - own
            explained: cython.longlong = min(rest, worked[call])
            now: cython.longlong = rest + _scaled(explained, worked[call], works[call]) - explained
            lag[k] = _scaled(own, old, lag[k]) + now
            for k in range(start[v] + 1, start[v + 1]):
                new = lag[k]
                at = _found(edge, k, at)
                old = _lag(edge, before, k, at)
                if kind[k] == GAP:
                    lag[k] = _scaled(weight[k], old, new)
                elif new == cut or (weight[k] == cut and old != cut) or (kind[k] == RENDEZVOUS and held and let_go[cause[k]] != 0):
                    lag[k] = cut
                elif old == cut:
                    lag[k] = now + new
                else:
                    was: cython.longlong = weight[k] - rest
                    if kind[k] == INJECTION or kind[k] == EJECTION:
                        lag[k] = now + was + new - old
                    else:
                        lag[k] = now + _scaled(max(was, 0), old, new) + min(was, 0)
