# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""ALOG rows to calls, messages and region instances: one pass in file order, with a stack of open states per location.

Columns of the matrices are numbered in perwiz.formats.alog.rows, which must agree with the numbers used here.
"""

import cython


@cython.cfunc
@cython.exceptval(check=False)
def _now(cell: cython.longlong[::1], place: cython.longlong[::1], rollover: cython.longlong) -> cython.longlong:
    """Return the time of a row on its location: wraps undone, never before the row before; -1 beyond 4e18 ns."""
    t: cython.longlong = cell[5]
    most: cython.longlong = 4000000000000000000
    if rollover > 0:
        if cell[4] + place[1] >= (most - t) // rollover:
            return -1
        t += (cell[4] + place[1]) * rollover
        if t < place[0] - rollover // 2:
            place[1] += 1
            t += rollover
    if place[2] < 0:
        place[2] = t
        place[0] = t
    if t < place[0]:
        cell[11] = 21
        t = place[0]
    place[0] = t
    return t


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _emit_call(
    calls: cython.longlong[:, ::1], at: cython.longlong, location: cython.longlong, place: cython.longlong[::1], t: cython.longlong
) -> cython.void:
    """Write the open call of a location, returned at t."""
    k: cython.int
    calls[at, 0] = location
    calls[at, 1] = t
    for k in range(8):
        calls[at, 2 + k] = place[8 + k]
    place[5] += 1
    place[3] = -1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _open_call(place: cython.longlong[::1], op: cython.longlong, t: cython.longlong) -> cython.void:
    place[8], place[9], place[10], place[11] = t, op, place[6], -1
    place[12], place[13], place[14], place[15] = -1, 0, 0, 0


@cython.cfunc
@cython.exceptval(check=False)
def _message(
    cell: cython.longlong[::1], place: cython.longlong[::1], kinds: cython.const[cython.uchar][::1], out: cython.longlong[::1]
) -> cython.bint:
    """Put a message record into the open call of its location; False if it is nobody's or inside a collective."""
    sends: cython.bint = cell[0] == -101
    kind: cython.int = kinds[place[9]]
    most: cython.longlong = 1152921504606846976
    if kind >= 9 or cell[11] == 3:
        place[15] |= 1 if sends else 2
        return False
    if cell[3] < 0:
        place[15] |= 4
        return False
    if sends and place[13] < most:
        place[13] += cell[7]
    elif not sends and place[14] < most:
        place[14] += cell[7]
    if place[11] < 0 and ((sends and (kind == 1 or kind == 2 or kind == 5)) or (not sends and kind == 3)):
        place[11], place[12] = cell[3], cell[6]
    out[0], out[1], out[2], out[3], out[4], out[5] = cell[0], cell[14], place[5], cell[3], cell[6], cell[7]
    return True


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _push(pool: cython.longlong[:, ::1], count: cython.longlong[::1], place: cython.longlong[::1]) -> cython.longlong:
    """Take a pool entry, link it on top of the location's stack and return it."""
    at: cython.longlong = count[0]
    if at >= 0:
        count[0] = pool[at, 0]
    else:
        at = count[1]
        count[1] += 1
    pool[at, 0] = place[4]
    place[4] = at
    place[7] += 1
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _pull(
    pool: cython.longlong[:, ::1], count: cython.longlong[::1], place: cython.longlong[::1], end_slot: cython.longlong
) -> cython.longlong:
    """Unlink the most recent entry that ends with `end_slot` and return it, or -1. It stays readable until the next push."""
    at: cython.longlong = place[4]
    above: cython.longlong = -1
    while at >= 0 and pool[at, 1] != end_slot:
        above = at
        at = pool[at, 0]
    if at < 0:
        return -1
    if above < 0:
        place[4] = pool[at, 0]
    else:
        pool[above, 0] = pool[at, 0]
    pool[at, 0] = count[0]
    count[0] = at
    place[7] -= 1
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _innermost(pool: cython.longlong[:, ::1], at: cython.longlong) -> cython.longlong:
    """Return the number of the innermost open region at or below a stack entry, or -1."""
    while at >= 0 and pool[at, 2] < 0:
        at = pool[at, 0]
    return pool[at, 2] if at >= 0 else -1


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    cell: cython.longlong[::1],
    place: cython.longlong[::1],
    state: cython.const[cython.longlong][::1],
    pool: cython.longlong[:, ::1],
    count: cython.longlong[::1],
    t: cython.longlong,
) -> cython.void:
    """Open a state: a call if it is MPI and no call is open, else an internal call or a region instance."""
    at: cython.longlong
    if place[7] >= 1000:
        cell[11] = 25
        return
    at = _push(pool, count, place)
    pool[at, 1], pool[at, 2], pool[at, 3] = state[1], -1, 0
    if state[2] >= 0:
        if place[3] >= 0:
            count[7] += 1
            return
        _open_call(place, state[2], t)
        place[3] = at
        cell[12], cell[13] = 1, place[5]
        return
    pool[at, 2], pool[at, 3], pool[at, 4], pool[at, 5] = count[2], state[3], t, place[6]
    pool[at, 6] = place[5] + (1 if place[3] >= 0 else 0)
    place[6] = count[2]
    cell[12], cell[13] = 4, count[2]
    count[2] += 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _emit_region(
    regions: cython.longlong[:, ::1],
    pool: cython.longlong[:, ::1],
    at: cython.longlong,
    location: cython.longlong,
    place: cython.longlong[::1],
    count: cython.longlong[::1],
) -> cython.void:
    """Write the region instance of a stack entry, left now."""
    k: cython.int
    row: cython.longlong = count[5]
    regions[row, 0], regions[row, 1] = location, place[0]
    regions[row, 2] = place[5] + (1 if place[3] >= 0 else 0)
    for k in range(5):
        regions[row, 3 + k] = pool[at, 2 + k]
    count[5] += 1
    if place[6] == pool[at, 2]:
        place[6] = _innermost(pool, place[4])


@cython.cfunc
@cython.exceptval(check=False)
def _end(
    cell: cython.longlong[::1],
    place: cython.longlong[::1],
    pool: cython.longlong[:, ::1],
    count: cython.longlong[::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    end_slot: cython.longlong,
) -> cython.bint:
    """Close the most recent state that ends with this event; False if none is open."""
    at: cython.longlong = _pull(pool, count, place, end_slot)
    if at < 0:
        return False
    count[3] += 1
    if at == place[3]:
        cell[12], cell[13] = 2, place[5]
        _emit_call(calls, count[4], cell[14], place, place[0])
        count[4] += 1
    elif pool[at, 2] >= 0:
        _emit_region(regions, pool, at, cell[14], place, count)
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _message_record(
    cell: cython.longlong[::1],
    place: cython.longlong[::1],
    kinds: cython.const[cython.uchar][::1],
    count: cython.longlong[::1],
    calls: cython.longlong[:, ::1],
    messages: cython.longlong[:, ::1],
) -> cython.void:
    """A message record belongs to the open call; outside of any it is a call of its own."""
    if cell[11] == 3 and place[3] < 0:
        count[11] += 1
        return
    if place[3] < 0:
        _open_call(place, 1 if cell[0] == -101 else count[14], place[0])
        place[15] = 8
    if _message(cell, place, kinds, messages[count[6]]):
        cell[12], cell[13] = 3, count[10] + count[6]
        count[6] += 1
    elif cell[3] < 0:
        count[9] += 1
    else:
        count[11] += 1
    if place[3] < 0:
        _emit_call(calls, count[4], cell[14], place, place[0])
        count[4] += 1


def states(
    rows: cython.longlong[:, ::1],
    states: cython.const[cython.longlong][:, ::1],
    kinds: cython.const[cython.uchar][::1],
    places: cython.longlong[:, ::1],
    pool: cython.longlong[:, ::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    messages: cython.longlong[:, ::1],
) -> None:
    """Turn event rows into calls, regions and messages; the last row of `places` holds the counts, and the rollover in its last cell.

    An event of a state first ends what it can end, then begins what it can begin.
    """
    r: cython.Py_ssize_t
    ended: cython.bint
    count: cython.longlong[::1] = places[len(places) - 1]
    place: cython.longlong[::1]
    cell: cython.longlong[::1]
    for r in range(len(rows)):
        cell = rows[r]
        if cell[11] != 0 and cell[11] != 3:
            continue
        place = places[cell[14]]
        if _now(cell, place, count[15]) < 0:
            cell[11] = 17
        elif cell[15] >= 0:
            ended = states[cell[15], 0] != 0 and _end(cell, place, pool, count, calls, regions, cell[15])
            if states[cell[15], 4] != 0:
                _begin(cell, place, states[cell[15]], pool, count, place[0])
            elif not ended:
                cell[11] = 19
        elif cell[0] == -101 or cell[0] == -102:
            _message_record(cell, place, kinds, count, calls, messages)
        else:
            count[8] += 1
            if place[3] >= 0:
                cell[12], cell[13] = 5, place[5]


def close(
    places: cython.longlong[:, ::1], pool: cython.longlong[:, ::1], calls: cython.longlong[:, ::1], regions: cython.longlong[:, ::1]
) -> None:
    """End what is still open on every location at its last instant; the outputs have room for all."""
    p: cython.Py_ssize_t
    at: cython.longlong
    count: cython.longlong[::1] = places[len(places) - 1]
    place: cython.longlong[::1]
    for p in range(len(places) - 1):
        place = places[p]
        while place[4] >= 0:
            at = place[4]
            place[4] = pool[at, 0]
            if at == place[3]:
                _emit_call(calls, count[4], p, place, place[0])
                count[4] += 1
            elif pool[at, 2] >= 0:
                _emit_region(regions, pool, at, p, place, count)
