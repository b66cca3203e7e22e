# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Delays: one pass back over the wait states that books them on those who came late; and since when two locations are apart.

Of a location x, `first[x] .. first[x + 1] - 1` are its intervals, see `perwiz.kernels.pieces`; `first_check` and `first_wait` say the
same of others.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

WAITING = cython.declare(cython.int, names.WAITING)
STRIDE = cython.declare(cython.Py_ssize_t, names.STRIDE)
SHORT = cython.declare(cython.Py_ssize_t, names.SHORT)
LONG = cython.declare(cython.Py_ssize_t, names.LONG)

Wait = cython.struct(
    waiter=cython.longlong,
    cause=cython.longlong,
    entered=cython.longlong,
    length=cython.longlong,
    came=cython.longlong,
    since=cython.longlong,
    call=cython.longlong,
    by_end=cython.longlong,
    type=cython.int,
    spreads=cython.int,
)
_TIMES_AND_ROWS = ("waiter", "cause", "entered", "length", "came", "since", "call", "by_end")
WAIT = np.dtype([*((field, "i8") for field in _TIMES_AND_ROWS), ("type", "i4"), ("spreads", "i4")])
"""A wait state: location, location it waits for, begin, length, when that which it waits for came, since when the two are apart, call,
the row of the k-th wait state by the time it ends, type, and whether it makes the waits behind it propagating."""
Join = cython.struct(call=cython.longlong, slot=cython.longlong, left=cython.longlong)
JOIN = np.dtype([("call", "i8"), ("slot", "i8"), ("left", "i8")])
"""A collective that keeps a location: its call, its slot, and when nobody waited any more."""
Node = cython.struct(difference=cython.longlong, listed=cython.Py_ssize_t, marked=cython.Py_ssize_t)
NODE = np.dtype([("difference", "i8"), ("listed", "i8"), ("marked", "i8")])
"""Per node of the call tree, and last for waiting, by how much longer one location was in it than another, and whether it is listed;
and a cell of the list of nodes with a difference."""
Split = cython.struct(share=cython.double, indirect=cython.double, propagating=cython.double)
SPLIT = np.dtype([("share", "f8"), ("indirect", "f8"), ("propagating", "f8")])
"""Per wait state the largest share put on it; the part of it that the cause's own waiting explains, and the part that makes others wait."""


def meet_in_collectives(
    waits: Wait[::1],
    joins: cython.const[Join][::1],
    first_slot: cython.const[cython.longlong][::1],
    group: cython.const[cython.int][::1],
    last: cython.longlong[::1],
) -> None:
    """Raise, per wait state, the time since when the two are apart to that of the last collective before it that kept both.

    A location has the slots `first_slot[x] .. first_slot[x + 1] - 1`, one per communicator, ascending in `group`. `joins`, one per
    location and collective, are sorted by call. `last` has the least time for every slot.
    """
    k: cython.Py_ssize_t = 0
    for i in range(len(waits)):
        while k < len(joins) and joins[k].call < waits[i].call:
            last[joins[k].slot] = joins[k].left
            k += 1
        a: cython.Py_ssize_t = first_slot[waits[i].waiter]
        b: cython.Py_ssize_t = first_slot[waits[i].cause]
        while a < first_slot[waits[i].waiter + 1] and b < first_slot[waits[i].cause + 1]:
            if group[a] < group[b]:
                a += 1
            elif group[a] > group[b]:
                b += 1
            else:
                waits[i].since = max(waits[i].since, last[a])
                a += 1
                b += 1


@cython.cfunc
def _interval(
    start: cython.const[cython.longlong][::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, time: cython.longlong
) -> cython.Py_ssize_t:
    """Return the last of intervals low .. high - 1 that starts at a time or before it; the first if none does."""
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@cython.cfunc
def _note(nodes: Node[::1], count: cython.Py_ssize_t, j: cython.Py_ssize_t, time: cython.longlong) -> cython.Py_ssize_t:
    """Add time to the difference of a node, which is listed then; return how many are."""
    if nodes[j].marked == 0:
        nodes[j].marked = 1
        nodes[count].listed = j
        count += 1
    nodes[j].difference += time
    return count


@cython.cfunc
def _spend(
    first: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    first_check: cython.const[cython.longlong][::1],
    sums: cython.const[cython.longlong][:, ::1],
    nodes: Node[::1],
    count: cython.Py_ssize_t,
    x: cython.Py_ssize_t,
    begin: cython.longlong,
    end: cython.longlong,
    sign: cython.longlong,
) -> cython.Py_ssize_t:
    """Note what a location did from one time to another, times 1 or -1; return how many nodes are listed then.

    Over long times it goes from check to check.
    """
    waiting = len(nodes) - 1
    stride = max(len(nodes), STRIDE)
    i = _interval(start, first[x], first[x + 1], begin)
    begin = max(begin, start[i])
    if end <= begin:
        return count
    last = _interval(start, i, first[x + 1], end)
    while i < last:
        low = (i - first[x]) // stride
        high = (last - first[x]) // stride
        if begin == start[i] and i == first[x] + low * stride and high > low:
            for j in range(waiting + 1):
                passed = sums[first_check[x] + high, j] - sums[first_check[x] + low, j]
                if passed > 0:
                    count = _note(nodes, count, j, sign * passed)
            i = first[x] + high * stride
        else:
            count = _note(nodes, count, node[i] if node[i] != WAITING else waiting, sign * (start[i + 1] - begin))
            i += 1
        begin = start[i]
    if end > begin:
        count = _note(nodes, count, node[i] if node[i] != WAITING else waiting, sign * (end - begin))
    return count


@cython.cfunc
def _following(waits: Wait[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, time: cython.longlong) -> cython.Py_ssize_t:
    """Return the first of waits low .. high - 1 that ends after a time, `high` if none does."""
    while low < high:
        middle = (low + high) // 2
        if waits[middle].entered + waits[middle].length > time:
            high = middle
        else:
            low = middle + 1
    return low


@cython.cfunc
def _responsibility(
    flow: cython.double[:, ::1], splits: Split[::1], first: cython.Py_ssize_t, k: cython.Py_ssize_t, rate: cython.double[::1]
) -> cython.double:
    """Sum up, per type, what was put on each ns of the k-th wait of a location, and return the largest share."""
    share: cython.double = 0.0
    for t in range(len(rate)):
        rate[t] = 0
    k += 1
    while k > 0:
        for t in range(len(rate)):
            rate[t] += flow[first + k - 1, t]
        share = max(share, splits[first + k - 1].share)
        k -= k & -k
    return share


@cython.cfunc
@cython.exceptval(check=False)
def _charge(
    flow: cython.double[:, ::1],
    splits: Split[::1],
    first: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    rate: cython.double[::1],
    share: cython.double,
) -> cython.void:
    """Put a rate per type, and a share, on the waits of a location from the k-th to the last that is not yet done."""
    k += 1
    while k <= size:
        for t in range(len(rate)):
            flow[first + k - 1, t] += rate[t]
        splits[first + k - 1].share = max(splits[first + k - 1].share, share)
        k += k & -k


@cython.cfunc
@cython.exceptval(check=False)
def _clear(nodes: Node[::1], count: cython.Py_ssize_t) -> cython.void:
    """Set the differences back to 0."""
    for k in range(count):
        nodes[nodes[k].listed].difference = 0
        nodes[nodes[k].listed].marked = 0


@cython.cfunc
def _excess(nodes: Node[::1], count: cython.Py_ssize_t) -> cython.longlong:
    """Return the sum of the differences above 0, waiting left out."""
    out: cython.longlong = 0
    for k in range(count):
        if nodes[k].listed < len(nodes) - 1:
            out += max(nodes[nodes[k].listed].difference, 0)
    return out


@cython.cfunc
@cython.exceptval(check=False)
def _book(
    nodes: Node[::1],
    count: cython.Py_ssize_t,
    cost: cython.double[:, :, :, ::1],
    location: cython.Py_ssize_t,
    type: cython.Py_ssize_t,
    share: cython.double,
    rate: cython.double[::1],
) -> cython.void:
    """Book the differences above 0 on the nodes of a location: their share in the short term, a rate per type in the long term."""
    for k in range(count):
        j = nodes[k].listed
        if j < len(nodes) - 1 and nodes[j].difference > 0:
            cost[type, SHORT, location, j] += share * nodes[j].difference
            for t in range(len(rate)):
                cost[t, LONG, location, j] += rate[t] * nodes[j].difference


def book_delays(
    waits: Wait[::1],
    first_wait: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    first_check: cython.const[cython.longlong][::1],
    sums: cython.const[cython.longlong][:, ::1],
    nodes: Node[::1],
    flow: cython.double[:, ::1],
    splits: Split[::1],
    rate: cython.double[::1],
    cost: cython.double[:, :, :, ::1],
) -> None:
    """Add to `cost` (type, short or long term, location, node) what late locations make others wait, wait states from last to first.

    `waits` are sorted by (location, call). `nodes`, one more than the call tree has, `flow` (wait state, type) and `splits`, a row per
    wait state, come with zeros; `splits` gets the parts of each. `rate` is room for a number per type.
    """
    for k in range(len(waits) - 1, -1, -1):
        i: cython.Py_ssize_t = waits[k].by_end
        q: cython.Py_ssize_t = waits[i].waiter
        p: cython.Py_ssize_t = waits[i].cause
        since = waits[i].since
        length: cython.double = waits[i].length
        share = _responsibility(flow, splits, first_wait[q], i - first_wait[q], rate)
        splits[i].propagating = share * length
        following = _following(waits, first_wait[p], first_wait[p + 1], since)
        if following < first_wait[p + 1]:
            since = min(since, waits[following].entered)
        count = _spend(first, start, node, first_check, sums, nodes, 0, p, since, waits[i].came, 1)
        own = nodes[len(nodes) - 1].difference
        count = _spend(first, start, node, first_check, sums, nodes, count, q, since, waits[i].entered, -1)
        late = _excess(nodes, count)
        if own + late > 0:
            share = min(length / (own + late), 1.0)
            for t in range(len(rate)):
                rate[t] *= length / (own + late)
            _book(nodes, count, cost, p, waits[i].type, share, rate)
            rate[waits[i].type] += share
            splits[i].indirect = share * own
            if waits[i].spreads == 0:
                share = 0
            _charge(flow, splits, first_wait[p], following - first_wait[p], first_wait[p + 1] - first_wait[p], rate, share)
        _clear(nodes, count)
