# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The controlled logical clock: forward amortization and the limits of sends, each one pass over the happened-before graph.

`lane` says per edge how a cause binds: 0 not at all, 1 to 3 a message between two locations of that pair class (same node, same metahost,
across), 4 a collective. `owner` is the location of a vertex, or -1 - row of `tops` for a hub; row 0 stays empty. `place` has a row per
location: node, metahost, and what the forward pass knows of its clock: recorded time and lead (corrected less recorded time) at the last
jump, last recorded time, lead now, largest lead, jumps by messages, jumps by collectives.

A row of `tops` sums up a set of instants at different locations so that the latest of them plus its latency can be told for any other
location: cell 0 is the latest, cell 4 where, cells 1 to 3 the latest of those at that distance from it, as far as they can matter;
latencies must not fall with the distance.

`forward` and `limits` go over the vertices that `start` is given for: all, or the last ones of `owner`.
"""

import cython

NEVER = cython.declare(cython.longlong, -(1 << 62))
FREE = cython.declare(cython.longlong, 1 << 62)
BILLION = cython.declare(cython.longlong, 1_000_000_000)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _distance(place: cython.longlong[:, ::1], a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the pair class of two locations: 0 the same, 1 same node, 2 same metahost, 3 across."""
    if a == b:
        return 0
    if place[a, 1] != place[b, 1]:
        return 3
    return 1 if place[a, 0] == place[b, 0] else 2


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _insert(
    tops: cython.longlong[:, ::1], row: cython.Py_ssize_t, place: cython.longlong[:, ::1], where: cython.Py_ssize_t, time: cython.longlong
) -> cython.void:
    """Add an instant to a row: the later one stays on top, the other becomes one at a distance from it."""
    d: cython.Py_ssize_t
    far: cython.Py_ssize_t
    if tops[row, 4] < 0:
        tops[row, 0] = time
        tops[row, 4] = where
        return
    far = _distance(place, where, tops[row, 4])
    if time <= tops[row, 0]:
        if far > 0 and time > tops[row, far]:
            tops[row, far] = time
        return
    for d in range(1, far):
        tops[row, d] = NEVER
    if far > 0:
        tops[row, far] = tops[row, 0]
    tops[row, 0] = time
    tops[row, 4] = where


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _merge(tops: cython.longlong[:, ::1], row: cython.Py_ssize_t, place: cython.longlong[:, ::1], other: cython.Py_ssize_t) -> cython.void:
    """Add to a row all that another sums up."""
    d: cython.Py_ssize_t
    far: cython.Py_ssize_t
    if tops[other, 4] < 0:
        return
    far = 3
    if tops[row, 4] >= 0:
        far = _distance(place, tops[row, 4], tops[other, 4])
    for d in range(far + 1, 4):
        if tops[other, d] > tops[row, d]:
            tops[row, d] = tops[other, d]
    if tops[row, 4] >= 0 and tops[other, 0] <= tops[row, 0]:
        if far > 0 and tops[other, 0] > tops[row, far]:
            tops[row, far] = tops[other, 0]
        return
    for d in range(1, far + 1):
        tops[row, d] = tops[other, d]
    if far > 0 and tops[row, 4] >= 0 and tops[row, 0] > tops[row, far]:
        tops[row, far] = tops[row, 0]
    tops[row, 0] = tops[other, 0]
    tops[row, 4] = tops[other, 4]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _latest(
    tops: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    place: cython.longlong[:, ::1],
    rule: cython.const[cython.longlong][::1],
    where: cython.Py_ssize_t,
) -> cython.longlong:
    """Return the latest instant of a row plus its latency to a location, whose own instant is left out."""
    d: cython.Py_ssize_t
    far: cython.Py_ssize_t
    best: cython.longlong = NEVER
    if tops[row, 4] < 0:
        return best
    far = _distance(place, where, tops[row, 4])
    if far > 0:
        best = tops[row, 0] + rule[far]
    for d in range(far + 1, 4):
        if tops[row, d] + rule[d] > best:
            best = tops[row, d] + rule[d]
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _jump(
    place: cython.longlong[:, ::1], here: cython.Py_ssize_t, by: cython.longlong, recorded: cython.longlong, collective: cython.bint
) -> cython.void:
    """Note that the clock of a location is put forward at a recorded instant."""
    place[here, 5] += by
    place[here, 3] = place[here, 5]
    place[here, 2] = place[here, 4] = recorded
    if place[here, 5] > place[here, 6]:
        place[here, 6] = place[here, 5]
    if collective:
        place[here, 8] += 1
    else:
        place[here, 7] += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _lead(at: cython.longlong, cell: cython.longlong[:, ::1], here: cython.Py_ssize_t, rate: cython.longlong) -> cython.longlong:
    """Return how far a clock is ahead at an instant: its lead falls by `rate` ns per second, but no two instants become one."""
    passed: cython.longlong = at - cell[here, 4]
    since: cython.longlong = at - cell[here, 2]
    lead: cython.longlong
    if passed <= 0:
        return cell[here, 5]
    lead = cell[here, 3] - (since // BILLION * rate + since % BILLION * rate // BILLION)
    if lead < cell[here, 5] - passed + 1:
        lead = cell[here, 5] - passed + 1
    return max(0, lead)


def forward(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    lane: cython.const[cython.uchar][::1],
    owner: cython.const[cython.int][::1],
    place: cython.longlong[:, ::1],
    rule: cython.const[cython.longlong][::1],
    tops: cython.longlong[:, ::1],
    time: cython.longlong[:, ::1],
) -> None:
    """Write the corrected time of every vertex to `time[1]`; `time[0]`, the recorded one, becomes the time just before a jump, or FREE.

    `rule[0]` is what a second takes off the lead of a clock, ns; `rule[1]` to `rule[3]` are the latencies of the pair classes.
    """
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    here: cython.Py_ssize_t
    by: cython.int
    before: cython.longlong
    after: cython.longlong
    arrival: cython.longlong
    first: cython.Py_ssize_t = len(owner) + 1 - len(start)
    for v in range(first if first > 0 else 1, len(owner)):
        here = owner[v]
        if here < 0:
            for k in range(start[v - first], start[v - first + 1]):
                u = source[k]
                if lane[k] != 0 and owner[u] < 0:
                    _merge(tops, -1 - here, place, -1 - owner[u])
                elif lane[k] != 0:
                    _insert(tops, -1 - here, place, owner[u], time[1, u])
            continue
        before = time[0, v]
        time[0, v] = FREE
        if place[here, 5] > 0:
            after = _lead(before, place, here, rule[0])
            place[here, 4] = before
            place[here, 5] = after
            before += after
        after = before
        by = 0
        for k in range(start[v - first] + 1, start[v - first + 1]):
            if lane[k] == 0:
                continue
            u = source[k]
            arrival = _latest(tops, -1 - owner[u], place, rule, here) if lane[k] == 4 else time[1, u] + rule[lane[k]]
            if arrival > after:
                after = arrival
                by = lane[k]
        time[1, v] = after
        if by != 0:
            _jump(place, here, after - before, before - place[here, 5], by == 4)
            time[0, v] = before


def delays(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    lane: cython.const[cython.uchar][::1],
    owner: cython.const[cython.int][::1],
    place: cython.longlong[:, ::1],
    tops: cython.longlong[:, ::1],
    time: cython.const[cython.longlong][::1],
    shortest: cython.longlong[::1],
) -> None:
    """Lower `shortest[d]` to the shortest time from a cause to its effect over pairs of class d. Reversed ones do not count."""
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    here: cython.Py_ssize_t
    d: cython.Py_ssize_t
    far: cython.Py_ssize_t
    lag: cython.longlong
    for v in range(1, len(owner)):
        here = owner[v]
        for k in range(start[v] + (here >= 0), start[v + 1]):
            u = source[k]
            if lane[k] == 0:
                continue
            if here < 0:
                if owner[u] < 0:
                    _merge(tops, -1 - here, place, -1 - owner[u])
                else:
                    _insert(tops, -1 - here, place, owner[u], time[u])
            elif lane[k] < 4:
                lag = time[v] - time[u]
                if 0 <= lag < shortest[lane[k]]:
                    shortest[lane[k]] = lag
            elif tops[-1 - owner[u], 4] >= 0:
                far = _distance(place, here, tops[-1 - owner[u], 4])
                for d in range(far if far > 0 else 1, 4):
                    lag = time[v] - tops[-1 - owner[u], 0 if d == far else d]
                    if 0 <= lag < shortest[d]:
                        shortest[d] = lag


def limits(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    lane: cython.const[cython.uchar][::1],
    owner: cython.const[cython.int][::1],
    place: cython.longlong[:, ::1],
    rule: cython.const[cython.longlong][::1],
    tops: cython.longlong[:, ::1],
    time: cython.longlong[:, ::1],
) -> None:
    """Lower `time[0]` of each vertex that sends to the earliest of the receivers' `time[1]` less the latency: it may not be later.

    One pass against the order; `tops` sums up receivers, their times negated. Vertices that send are FREE before.
    """
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    here: cython.Py_ssize_t
    limit: cython.longlong
    first: cython.Py_ssize_t = len(owner) + 1 - len(start)
    for v in range(len(owner) - 1, first - 1 if first > 0 else 0, -1):
        here = owner[v]
        for k in range(start[v - first] + (here >= 0), start[v - first + 1]):
            u = source[k]
            if lane[k] == 0:
                continue
            if lane[k] == 4 and owner[u] < 0:
                if here < 0:
                    _merge(tops, -1 - owner[u], place, -1 - here)
                else:
                    _insert(tops, -1 - owner[u], place, here, -time[1, v])
                continue
            limit = -_latest(tops, -1 - here, place, rule, owner[u]) if here < 0 else time[1, v] - rule[lane[k]]
            if limit < time[0, u]:
                time[0, u] = limit
