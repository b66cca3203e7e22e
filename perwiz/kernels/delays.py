# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Delays: one pass back over the wait states that books them on those who came late.

`place` as in `perwiz.kernels.pieces`. `waits` has a row per wait state, sorted by (location, call): location, location it waits for,
begin, length, when that which it waits for came, since when the two are apart, type, call, the row of the k-th wait state by the time it
ends, and whether it makes the waits behind it propagating.
"""

import cython

PIECES = cython.declare(cython.Py_ssize_t, 4)
CHECKS = cython.declare(cython.Py_ssize_t, 5)
FIRST = cython.declare(cython.Py_ssize_t, 6)

WAITER = cython.declare(cython.Py_ssize_t, 0)
CAUSE = cython.declare(cython.Py_ssize_t, 1)
ENTERED = cython.declare(cython.Py_ssize_t, 2)
LENGTH = cython.declare(cython.Py_ssize_t, 3)
CAME = cython.declare(cython.Py_ssize_t, 4)
SINCE = cython.declare(cython.Py_ssize_t, 5)
TYPE = cython.declare(cython.Py_ssize_t, 6)
KTH = cython.declare(cython.Py_ssize_t, 8)
SPREADS = cython.declare(cython.Py_ssize_t, 9)

STRIDE = cython.declare(cython.Py_ssize_t, 64)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _piece(start: cython.longlong[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, time: cython.longlong) -> cython.Py_ssize_t:
    """Return the last of pieces low .. high - 1 that starts at a time or before it; the first if none does."""
    middle: cython.Py_ssize_t
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _note(sums: cython.longlong[:, ::1], column: cython.Py_ssize_t, time: cython.longlong) -> cython.void:
    """Add time to a column of the difference, the last row but two; list the column in the last but one; the last marks those listed."""
    rows: cython.Py_ssize_t = len(sums)
    if sums[rows - 1, column] == 0:
        sums[rows - 1, column] = 1
        sums[rows - 2, sums[rows - 4, 0]] = column
        sums[rows - 4, 0] += 1
    sums[rows - 3, column] += time


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _spent(
    place: cython.const[cython.longlong][:, ::1],
    start: cython.longlong[::1],
    node: cython.int[::1],
    sums: cython.longlong[:, ::1],
    x: cython.Py_ssize_t,
    begin: cython.longlong,
    end: cython.longlong,
    sign: cython.longlong,
) -> cython.void:
    """Note what a location did from one time to another, times 1 or -1. Over long times it goes from check to check."""
    first: cython.Py_ssize_t = place[x, PIECES]
    row: cython.Py_ssize_t = place[x, CHECKS]
    waiting: cython.Py_ssize_t = sums.shape[1] - 1
    stride: cython.Py_ssize_t = max(waiting + 1, STRIDE)
    j: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    last: cython.Py_ssize_t
    i: cython.Py_ssize_t = _piece(start, first, place[x + 1, PIECES], begin)
    begin = max(begin, start[i])
    if end <= begin:
        return
    last = _piece(start, i, place[x + 1, PIECES], end)
    while i < last:
        low, high = (i - first) // stride, (last - first) // stride
        if begin == start[i] and i == first + low * stride and high > low:
            for j in range(waiting + 1):
                if sums[row + high, j] > sums[row + low, j]:
                    _note(sums, j, sign * (sums[row + high, j] - sums[row + low, j]))
            i = first + high * stride
        else:
            _note(sums, node[i] if node[i] >= 0 else waiting, sign * (start[i + 1] - begin))
            i += 1
        begin = start[i]
    if end > begin:
        _note(sums, node[i] if node[i] >= 0 else waiting, sign * (end - begin))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _following(waits: cython.longlong[:, ::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, time: cython.longlong) -> cython.Py_ssize_t:
    """Return the first of waits low .. high - 1 that ends after a time, `high` if none does."""
    middle: cython.Py_ssize_t
    while low < high:
        middle = (low + high) // 2
        if waits[middle, ENTERED] + waits[middle, LENGTH] > time:
            high = middle
        else:
            low = middle + 1
    return low


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _responsibility(flow: cython.double[:, ::1], base: cython.Py_ssize_t, k: cython.Py_ssize_t, out: cython.double[::1]) -> cython.void:
    """Sum up, per type, what was put on each ns of the k-th wait of a location, and find the largest share."""
    t: cython.Py_ssize_t
    types: cython.Py_ssize_t = flow.shape[1] - 3
    for t in range(types + 1):
        out[t] = 0
    k += 1
    while k > 0:
        for t in range(types):
            out[t] += flow[base + k - 1, t]
        out[types] = max(out[types], flow[base + k - 1, types])
        k -= k & -k


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _charge(
    flow: cython.double[:, ::1],
    base: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    rate: cython.double[::1],
    share: cython.double,
) -> cython.void:
    """Put a rate per type, and a share, on the waits of a location from the k-th to the last that is not yet done."""
    t: cython.Py_ssize_t
    types: cython.Py_ssize_t = flow.shape[1] - 3
    k += 1
    while k <= size:
        for t in range(types):
            flow[base + k - 1, t] += rate[t]
        flow[base + k - 1, types] = max(flow[base + k - 1, types], share)
        k += k & -k


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _clear(sums: cython.longlong[:, ::1]) -> cython.void:
    """Set the difference back to 0."""
    k: cython.Py_ssize_t
    rows: cython.Py_ssize_t = len(sums)
    for k in range(sums[rows - 4, 0]):
        sums[rows - 3, sums[rows - 2, k]] = 0
        sums[rows - 1, sums[rows - 2, k]] = 0
    sums[rows - 4, 0] = 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _excess(sums: cython.longlong[:, ::1]) -> cython.longlong:
    """Return the sum of the differences above 0, waiting left out."""
    k: cython.Py_ssize_t
    rows: cython.Py_ssize_t = len(sums)
    out: cython.longlong = 0
    for k in range(sums[rows - 4, 0]):
        if sums[rows - 2, k] < sums.shape[1] - 1:
            out += max(sums[rows - 3, sums[rows - 2, k]], 0)
    return out


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _book(
    sums: cython.longlong[:, ::1],
    cost: cython.double[:, :, :, ::1],
    location: cython.Py_ssize_t,
    kind: cython.Py_ssize_t,
    share: cython.double,
    rate: cython.double[::1],
) -> cython.void:
    """Book the differences above 0 on the nodes of a location: their share in the short term, a rate per type in the long term."""
    k: cython.Py_ssize_t
    t: cython.Py_ssize_t
    j: cython.Py_ssize_t
    rows: cython.Py_ssize_t = len(sums)
    for k in range(sums[rows - 4, 0]):
        j = sums[rows - 2, k]
        if j < sums.shape[1] - 1 and sums[rows - 3, j] > 0:
            cost[kind, 0, location, j] += share * sums[rows - 3, j]
            for t in range(len(rate) - 1):
                cost[t, 1, location, j] += rate[t] * sums[rows - 3, j]


def delays(
    waits: cython.longlong[:, ::1],
    place: cython.const[cython.longlong][:, ::1],
    start: cython.longlong[::1],
    node: cython.int[::1],
    sums: cython.longlong[:, ::1],
    flow: cython.double[:, ::1],
    rate: cython.double[::1],
    cost: cython.double[:, :, :, ::1],
) -> None:
    """Add to `cost` (type, short or long term, location, node) what late locations make others wait, wait states from last to first.

    `sums` as `checks` makes it, with four more rows of zeros. `flow` has a row of zeros per wait state; of its columns the last but one
    gets the part that the cause's own waiting explains, the last the part that makes others wait. `rate` is room for a number per type
    and one more.
    """
    j: cython.Py_ssize_t
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    at: cython.Py_ssize_t
    types: cython.Py_ssize_t = flow.shape[1] - 3
    since: cython.longlong
    own: cython.longlong
    late: cython.longlong
    length: cython.double
    share: cython.double
    for j in range(len(waits) - 1, -1, -1):
        i = waits[j, KTH]
        q, p, since, length = waits[i, WAITER], waits[i, CAUSE], waits[i, SINCE], waits[i, LENGTH]
        _responsibility(flow, place[q, FIRST], i - place[q, FIRST], rate)
        flow[i, types + 2] = rate[types] * length
        at = _following(waits, place[p, FIRST], place[p + 1, FIRST], since)
        if at < place[p + 1, FIRST]:
            since = min(since, waits[at, ENTERED])
        _spent(place, start, node, sums, p, since, waits[i, CAME], 1)
        own = sums[len(sums) - 3, sums.shape[1] - 1]
        _spent(place, start, node, sums, q, since, waits[i, ENTERED], -1)
        late = _excess(sums)
        if own + late > 0:
            share = min(length / (own + late), 1.0)
            for t in range(types):
                rate[t] *= length / (own + late)
            _book(sums, cost, p, waits[i, TYPE], share, rate)
            rate[waits[i, TYPE]] += share
            flow[i, types + 1] = share * own
            if waits[i, SPREADS] == 0:
                share = 0
            _charge(flow, place[p, FIRST], at - place[p, FIRST], place[p + 1, FIRST] - place[p, FIRST], rate, share)
        _clear(sums)
