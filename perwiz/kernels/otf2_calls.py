# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The event rows of one OTF2 location to calls, regions, message records and requests: one pass, with a stack of open regions.

Columns of the matrices are numbered in perwiz.formats.otf2.location, which must agree with the numbers used here. Rows must be in the
order of the file; cell 8 of a row holds the number of its request, or -1.
"""

import cython


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _open_call(
    state: cython.longlong[::1], calls: cython.longlong[:, ::1], op: cython.longlong, t: cython.longlong, bare: cython.longlong
) -> cython.void:
    """Begin a call at t; it is open from now on."""
    k: cython.int
    row: cython.longlong = state[0]
    calls[row, 0], calls[row, 1], calls[row, 2], calls[row, 3] = t, t, op, state[5]
    for k in range(4, 8):
        calls[row, k] = -1
    calls[row, 8], calls[row, 9], calls[row, 10] = 0, 0, bare
    state[1] = row
    state[0] += 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _enter(
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    name: cython.longlong,
    op: cython.longlong,
) -> cython.void:
    """Open a call if the region is MPI and no call is open, an internal call inside one, else an instance of a user region."""
    top: cython.longlong = state[2]
    row: cython.longlong = state[4]
    stack[top, 0], stack[top, 1] = name, -1
    state[2] += 1
    if op >= 0 and state[1] >= 0:
        stack[top, 1] = -2
    elif op >= 0:
        _open_call(state, calls, op, state[7], 0)
    else:
        stack[top, 1] = row
        regions[row, 0], regions[row, 1], regions[row, 2], regions[row, 3] = state[7], state[7], name, state[5]
        regions[row, 4], regions[row, 5] = state[0], state[0]
        state[5] = row
        state[4] += 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _close(
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    at: cython.longlong,
) -> cython.void:
    """Take one entry off the stack and end what it stands for now."""
    k: cython.longlong
    what: cython.longlong = stack[at, 1]
    for k in range(at, state[2] - 1):
        stack[k, 0], stack[k, 1] = stack[k + 1, 0], stack[k + 1, 1]
    state[2] -= 1
    if what == -1:
        calls[state[1], 1] = state[7]
        state[1] = -1
    elif what == -2:
        state[9] += 1
    else:
        regions[what, 1], regions[what, 5] = state[7], state[0]
        k = state[2] - 1
        while k >= 0 and stack[k, 1] < 0:
            k -= 1
        state[5] = stack[k, 1] if k >= 0 else -1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _leave(
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    name: cython.longlong,
) -> cython.bint:
    """Close the innermost open region of this name, looked for in the upper 1000; False if there is none."""
    at: cython.longlong = state[2] - 1
    lowest: cython.longlong = state[2] - 1000
    while at >= 0 and at >= lowest and stack[at, 0] != name:
        at -= 1
    if at < 0 or at < lowest:
        return False
    _close(state, stack, calls, regions, at)
    state[8] += 1
    return True


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _post(
    state: cython.longlong[::1], requests: cython.longlong[:, ::1], number: cython.longlong, call: cython.longlong
) -> cython.longlong:
    """Post a request at a call; an earlier one of the same number that is still open stays without completion."""
    row: cython.longlong = state[6]
    requests[row, 0], requests[row, 1], requests[row, 2] = call, -1, 0
    requests[number, 3] = row
    state[6] += 1
    return row


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _complete(requests: cython.longlong[:, ::1], number: cython.longlong, call: cython.longlong) -> cython.longlong:
    """Complete the open request of a number at a call and return its row, -1 if none is open."""
    row: cython.longlong = requests[number, 3]
    if row >= 0:
        requests[row, 1] = call
        requests[number, 3] = -1
    return row


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _partner(cell: cython.longlong[::1], call: cython.longlong[::1]) -> cython.void:
    """Give a call the partner of its first message record."""
    if call[4] == -1 and call[6] == -1:
        call[4], call[5], call[6] = cell[2], cell[4], cell[3]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _message(
    state: cython.longlong[::1],
    cell: cython.longlong[::1],
    message: cython.longlong[::1],
    kind: cython.longlong,
    request: cython.longlong,
) -> cython.void:
    """Write a message record (0 send, 1 receive, 2 a request found not complete) of the open call."""
    message[0], message[1], message[2], message[3] = state[1], kind, cell[2], cell[4]
    message[4], message[5], message[6] = cell[3], cell[5], request
    state[3] += 1


@cython.cfunc
@cython.exceptval(check=False)
def _point_to_point(
    state: cython.longlong[::1],
    cell: cython.longlong[::1],
    calls: cython.longlong[:, ::1],
    messages: cython.longlong[:, ::1],
    requests: cython.longlong[:, ::1],
) -> cython.void:
    """A record of a message or request belongs to the open call."""
    kind: cython.longlong = cell[0]
    number: cython.longlong = cell[8]
    here: cython.longlong = state[1]
    request: cython.longlong = -1
    if kind == 2 or kind == 3:
        _partner(cell, calls[here])
        calls[here, 8] += cell[5]
        if kind == 3:
            request = _post(state, requests, number, here)
        _message(state, cell, messages[state[3]], 0, request)
    elif kind == 6:
        _partner(cell, calls[here])
        calls[here, 9] += cell[5]
        _message(state, cell, messages[state[3]], 1, -1)
    elif kind == 5 or kind == 12:
        _post(state, requests, number, here)
    elif kind == 8:
        if requests[number, 3] >= 0:
            _message(state, cell, messages[state[3]], 2, requests[number, 3])
    else:
        request = _complete(requests, number, here)
        if request < 0:
            state[12] += 1
        elif kind == 9:
            requests[request, 2] = 1
        if kind == 7:
            calls[here, 9] += cell[5]
            if request >= 0:
                _partner(cell, calls[requests[request, 0]])
            _message(state, cell, messages[state[3]], 1, request)
        elif kind == 13 and request >= 0:
            _collective(cell, calls[requests[request, 0]])


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _begun(state: cython.longlong[::1], calls: cython.longlong[:, ::1]) -> cython.longlong:
    """Return when a collective outside any call began, not before the last call returned; now, if nobody said. Forgets it."""
    t: cython.longlong = state[13]
    state[13] = -4611686018427387904
    if t == state[13]:
        t = state[7]
    if state[0] > 0 and t < calls[state[0] - 1, 1]:
        t = calls[state[0] - 1, 1]
    return t


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _collective(cell: cython.longlong[::1], call: cython.longlong[::1]) -> cython.void:
    """Give a call the communicator, root and sizes of its collective record."""
    call[6], call[7] = cell[3], cell[4]
    call[8], call[9] = cell[5], cell[7]
    call[10] |= 2


def calls(
    rows: cython.longlong[:, ::1],
    op_of: cython.const[cython.int][::1],
    bare_op: cython.const[cython.int][::1],
    state: cython.longlong[::1],
    stack: cython.longlong[:, ::1],
    calls: cython.longlong[:, ::1],
    regions: cython.longlong[:, ::1],
    outputs: tuple,
) -> None:
    """Turn the rows into calls, region instances, and (`outputs`) message records and requests; all have room for one per row.

    `op_of` gives the op per region, -1 for user regions; `bare_op` the op of a record outside any call, per kind below 14, behind
    them per collective operation. Cells 8 and 9 of rows from kind 14 on get the number of calls entered so far and whether one is
    open, cell 7 of those below 32 the innermost region.
    """
    r: cython.Py_ssize_t
    kind: cython.longlong
    bare: cython.bint
    messages: cython.longlong[:, ::1] = outputs[0]
    requests: cython.longlong[:, ::1] = outputs[1]
    cell: cython.longlong[::1]
    for r in range(len(rows)):
        cell = rows[r]
        kind = cell[0]
        if cell[1] < state[7]:
            state[10] += 1
        else:
            state[7] = cell[1]
        if kind == 0:
            _enter(state, stack, calls, regions, cell[2], op_of[cell[2]])
        elif kind == 1:
            if not _leave(state, stack, calls, regions, cell[2]):
                state[11] += 1
        elif kind == 10:
            state[13] = state[7]
        elif kind < 14:
            bare = state[1] < 0
            if bare:
                if kind == 11:
                    _open_call(state, calls, bare_op[14 + cell[2]], _begun(state, calls), 1)
                else:
                    _open_call(state, calls, bare_op[kind], state[7], 1)
            if kind != 11:
                _point_to_point(state, cell, calls, messages, requests)
            else:
                _collective(cell, calls[state[1]])
            if bare:
                calls[state[1], 1] = state[7]
                state[1] = -1
        else:
            cell[8], cell[9] = state[0], 1 if state[1] >= 0 else 0
            if kind < 32:
                cell[7] = state[5]


def close(
    state: cython.longlong[::1], stack: cython.longlong[:, ::1], calls: cython.longlong[:, ::1], regions: cython.longlong[:, ::1]
) -> int:
    """End what is still open at the last instant; return how many that were."""
    count: cython.longlong = state[2]
    while state[2] > 0:
        _close(state, stack, calls, regions, state[2] - 1)
    return count
