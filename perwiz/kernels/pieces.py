# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""What each location did when: pieces of time, sums of them up to some, and which collectives kept two locations together.

`place` has a row per location and one more, which ends the last: first call, first region, first instant, last instant, first piece,
first check, first wait.
"""

import cython

CALLS = cython.declare(cython.Py_ssize_t, 0)
REGIONS = cython.declare(cython.Py_ssize_t, 1)
BEGIN = cython.declare(cython.Py_ssize_t, 2)
PIECES = cython.declare(cython.Py_ssize_t, 4)
CHECKS = cython.declare(cython.Py_ssize_t, 5)
WAITER = cython.declare(cython.Py_ssize_t, 0)
CAUSE = cython.declare(cython.Py_ssize_t, 1)
SINCE = cython.declare(cython.Py_ssize_t, 5)
CALL = cython.declare(cython.Py_ssize_t, 7)
STRIDE = cython.declare(cython.Py_ssize_t, 64)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _begin_piece(
    start: cython.longlong[::1],
    node: cython.int[::1],
    at: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    time: cython.longlong,
    what: cython.int,
) -> cython.Py_ssize_t:
    """Let something begin at a time, and return the row behind its piece: none before it has length 0 or less."""
    if at > first and time <= start[at - 1]:
        node[at - 1] = what
        return at
    start[at] = time
    node[at] = what
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _close(regions: cython.const[cython.longlong][:, ::1], region: cython.Py_ssize_t) -> cython.int:
    """Return the node that goes on when a region ends: that of the one around it, 0 if there is none."""
    if regions[region, 3] < 0:
        return 0
    return cython.cast(cython.int, regions[regions[region, 3], 2])


def pieces(
    place: cython.longlong[:, ::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    waited: cython.const[cython.longlong][::1],
    leaf: cython.const[cython.int][::1],
    regions: cython.const[cython.longlong][:, ::1],
    start: cython.longlong[::1],
    node: cython.int[::1],
) -> int:
    """Write when each piece of a location's time starts and the node of the call tree it belongs to, -1 for waiting; return how many.

    Calls begin with `waited` ns of waiting; `leaf` is their node. `regions` has a row per region instance: enter, leave, node, instance
    around it or -1, first call inside, first call behind. First pieces go to `place`.
    """
    x: cython.Py_ssize_t
    e: cython.Py_ssize_t
    r: cython.Py_ssize_t
    last: cython.Py_ssize_t
    first: cython.Py_ssize_t
    open_: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    around: cython.int
    for x in range(len(place) - 1):
        first = place[x, PIECES] = at
        at = _begin_piece(start, node, at, first, place[x, BEGIN], 0)
        open_, around, r, last = -1, 0, place[x, REGIONS], place[x + 1, REGIONS]
        for e in range(place[x, CALLS], place[x + 1, CALLS] + 1):
            while True:
                if r < last and regions[r, 4] <= e and regions[r, 3] == open_:
                    around, open_ = cython.cast(cython.int, regions[r, 2]), r
                    at = _begin_piece(start, node, at, first, regions[r, 0], around)
                    r += 1
                elif open_ >= 0 and (regions[open_, 5] <= e or e == place[x + 1, CALLS]):
                    around = _close(regions, open_)
                    at = _begin_piece(start, node, at, first, regions[open_, 1], around)
                    open_ = regions[open_, 3]
                else:
                    break
            if e < place[x + 1, CALLS]:
                if waited[e] > 0:
                    at = _begin_piece(start, node, at, first, enter[e], -1)
                at = _begin_piece(start, node, at, first, enter[e] + waited[e], leaf[e])
                at = _begin_piece(start, node, at, first, leave[e], around)
    place[len(place) - 1, PIECES] = at
    return at


def checks(
    place: cython.const[cython.longlong][:, ::1], start: cython.longlong[::1], node: cython.int[::1], sums: cython.longlong[:, ::1]
) -> None:
    """Write to `sums`, for every so many pieces of a location from its first on, how long it was in each node before; last of all waiting.

    As many as a row is long, but at least 64. Each location needs one row more than it has checks.
    """
    x: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    width: cython.Py_ssize_t = sums.shape[1]
    stride: cython.Py_ssize_t = max(width, STRIDE)
    for x in range(len(place) - 1):
        row = place[x, CHECKS] + 1
        for j in range(width):
            sums[row - 1, j] = sums[row, j] = 0
        for i in range(place[x, PIECES] + 1, place[x + 1, PIECES]):
            sums[row, node[i - 1] if node[i - 1] >= 0 else width - 1] += start[i] - start[i - 1]
            if (i - place[x, PIECES]) % stride == 0:
                row += 1
                for j in range(width):
                    sums[row, j] = sums[row - 1, j]


def together(
    waits: cython.longlong[:, ::1],
    joins: cython.const[cython.longlong][:, ::1],
    first: cython.const[cython.longlong][::1],
    group: cython.const[cython.int][::1],
    last: cython.longlong[::1],
) -> None:
    """Raise, per wait state, the time since when the two are apart to that of the last collective before it that kept both.

    A location has the slots `first[x] .. first[x + 1] - 1`, one per communicator, ascending in `group`. `joins` has a row per location
    and collective, sorted by call: call, slot, when nobody waited any more. `last` has the least time for every slot.
    """
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t = 0
    for i in range(len(waits)):
        while k < len(joins) and joins[k, 0] < waits[i, CALL]:
            last[joins[k, 1]] = joins[k, 2]
            k += 1
        a, b = first[waits[i, WAITER]], first[waits[i, CAUSE]]
        while a < first[waits[i, WAITER] + 1] and b < first[waits[i, CAUSE] + 1]:
            if group[a] < group[b]:
                a += 1
            elif group[a] > group[b]:
                b += 1
            else:
                waits[i, SINCE] = max(waits[i, SINCE], last[a])
                a += 1
                b += 1
