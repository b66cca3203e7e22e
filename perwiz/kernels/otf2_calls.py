# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The rows of one OTF2 location to calls, regions, message records and requests: one pass, with a stack of open regions.

Rows must be in the order of the file.
"""

import cython
import numpy as np

from perwiz.kernels import records

NO_CALL = cython.declare(cython.int, records.NO_CALL)
ENTER = cython.declare(cython.int, records.ENTER)
LEAVE = cython.declare(cython.int, records.LEAVE)
SEND = cython.declare(cython.int, records.SEND)
ISEND = cython.declare(cython.int, records.ISEND)
IRECV_REQUEST = cython.declare(cython.int, records.IRECV_REQUEST)
RECV = cython.declare(cython.int, records.RECV)
IRECV = cython.declare(cython.int, records.IRECV)
REQUEST_TEST = cython.declare(cython.int, records.REQUEST_TEST)
REQUEST_CANCELLED = cython.declare(cython.int, records.REQUEST_CANCELLED)
COLLECTIVE_BEGIN = cython.declare(cython.int, records.COLLECTIVE_BEGIN)
COLLECTIVE_END = cython.declare(cython.int, records.COLLECTIVE_END)
NONBLOCKING_REQUEST = cython.declare(cython.int, records.NONBLOCKING_REQUEST)
NONBLOCKING_COMPLETE = cython.declare(cython.int, records.NONBLOCKING_COMPLETE)
METRIC = cython.declare(cython.int, records.METRIC)
OTHER_KIND = cython.declare(cython.int, records.OTHER_KIND)
BARE = cython.declare(cython.int, records.BARE)
COLLECTIVE_RECORD = cython.declare(cython.int, records.COLLECTIVE_RECORD)
SENT = cython.declare(cython.int, records.SENT)
RECEIVED = cython.declare(cython.int, records.RECEIVED)
INCOMPLETE = cython.declare(cython.int, records.INCOMPLETE)
A_CALL = cython.declare(cython.int, records.A_CALL)
INSIDE_A_CALL = cython.declare(cython.int, records.INSIDE_A_CALL)
UNSAID = cython.declare(cython.longlong, records.UNSAID)
DEEPEST = cython.declare(cython.int, records.DEEPEST)

Record = cython.struct(
    kind=cython.ushort,
    inside=cython.ushort,
    number=cython.int,
    time=cython.longlong,
    reference=cython.longlong,
    communicator=cython.longlong,
    tag=cython.longlong,
    amount=cython.longlong,
    request=cython.longlong,
    received=cython.longlong,
    calls=cython.int,
    region=cython.int,
)
CALL = np.dtype(
    [
        *((name, "i8") for name in ("enter", "leave", "sent", "received")),
        *((name, "i4") for name in ("region", "peer", "tag", "comm", "root")),
        ("op", "u2"),
        ("bits", "u1"),
    ],
    align=True,
)
"""A call: `region` is the innermost one around it, `bits` are BARE and COLLECTIVE_RECORD."""
Call = cython.struct(
    enter=cython.longlong,
    leave=cython.longlong,
    sent=cython.longlong,
    received=cython.longlong,
    region=cython.int,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    root=cython.int,
    op=cython.ushort,
    bits=cython.uchar,
)
REGION = np.dtype(
    [("enter", "i8"), ("leave", "i8"), *((name, "i4") for name in ("name", "parent", "first_call", "end_call"))],
    align=True,
)
"""An instance of a user region: its number among the defined ones, the instance around it, calls in it."""
Region = cython.struct(
    enter=cython.longlong, leave=cython.longlong, name=cython.int, parent=cython.int, first_call=cython.int, end_call=cython.int
)
MESSAGE = np.dtype(
    [("bytes", "i8"), ("time", "i8"), *((name, "i4") for name in ("call", "peer", "tag", "comm", "request")), ("kind", "u1")], align=True
)
"""A record of a message: SENT, RECEIVED, or of a request found INCOMPLETE; `request` is a row or -1."""
Message = cython.struct(
    bytes=cython.longlong,
    time=cython.longlong,
    call=cython.int,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    request=cython.int,
    kind=cython.uchar,
)
REQUEST = np.dtype([("posted", "i4"), ("done", "i4"), ("cancelled", "u1")], align=True)
"""A request: the calls that post and complete it, the latter -1 if none does."""
Request = cython.struct(posted=cython.int, done=cython.int, cancelled=cython.uchar)
FRAME = np.dtype([("name", "i4"), ("stands_for", "i4")], align=True)
"""An open region: its number among the defined ones; A_CALL, INSIDE_A_CALL or the row of a user region."""
Frame = cython.struct(name=cython.int, stands_for=cython.int)
_COUNTS = ("pairs", "internal", "backwards", "not_open", "not_posted", "undefined", "never_ends", "records", "sends", "receives", "polls")
_NEXT = ("calls", "open", "depth", "messages", "regions", "innermost", "requests", "clock", "collective_time", "first")
STATE = np.dtype([(name, "i8") for name in (*_NEXT, *_COUNTS)], align=True)
"""Of a location between pieces: the next rows, the open call and the innermost open region or -1, how many regions are open, the last time,
when the next collective began, the time of the first record; then counts."""
State = cython.struct(
    calls=cython.longlong,
    open=cython.longlong,
    depth=cython.longlong,
    messages=cython.longlong,
    regions=cython.longlong,
    innermost=cython.longlong,
    requests=cython.longlong,
    clock=cython.longlong,
    collective_time=cython.longlong,
    first=cython.longlong,
    pairs=cython.longlong,
    internal=cython.longlong,
    backwards=cython.longlong,
    not_open=cython.longlong,
    not_posted=cython.longlong,
    undefined=cython.longlong,
    never_ends=cython.longlong,
    records=cython.longlong,
    sends=cython.longlong,
    receives=cython.longlong,
    polls=cython.longlong,
)


@cython.cfunc
@cython.exceptval(check=False)
def _open_call(state: State[::1], calls: Call[::1], op: cython.int, time: cython.longlong, bits: cython.int) -> cython.void:
    """Begin a call; it is open from now on."""
    row = state[0].calls
    calls[row].enter = calls[row].leave = time
    calls[row].sent = calls[row].received = 0
    calls[row].region = cython.cast(cython.int, state[0].innermost)
    calls[row].peer = calls[row].tag = calls[row].comm = calls[row].root = -1
    calls[row].op = cython.cast(cython.ushort, op)
    calls[row].bits = cython.cast(cython.uchar, bits)
    state[0].open = row
    state[0].calls += 1


@cython.cfunc
@cython.exceptval(check=False)
def _enter(state: State[::1], stack: Frame[::1], calls: Call[::1], regions: Region[::1], name: cython.int, op: cython.int) -> cython.void:
    """Open a call if the region is MPI and no call is open, an internal call inside one, else an instance of a user region."""
    top = state[0].depth
    row = state[0].regions
    stack[top].name = name
    stack[top].stands_for = A_CALL
    state[0].depth += 1
    if op != NO_CALL and state[0].open >= 0:
        stack[top].stands_for = INSIDE_A_CALL
    elif op != NO_CALL:
        _open_call(state, calls, op, state[0].clock, 0)
    else:
        stack[top].stands_for = cython.cast(cython.int, row)
        regions[row].enter = regions[row].leave = state[0].clock
        regions[row].name = name
        regions[row].parent = cython.cast(cython.int, state[0].innermost)
        regions[row].first_call = regions[row].end_call = cython.cast(cython.int, state[0].calls)
        state[0].innermost = row
        state[0].regions += 1


@cython.cfunc
@cython.exceptval(check=False)
def _close(state: State[::1], stack: Frame[::1], calls: Call[::1], regions: Region[::1], level: cython.longlong) -> cython.void:
    """Take one frame off the stack and end what it stands for now."""
    ended = stack[level].stands_for
    above: cython.longlong
    for above in range(level, state[0].depth - 1):
        stack[above] = stack[above + 1]
    state[0].depth -= 1
    if ended == A_CALL:
        calls[state[0].open].leave = state[0].clock
        state[0].open = -1
    elif ended == INSIDE_A_CALL:
        state[0].internal += 1
    else:
        regions[ended].leave = state[0].clock
        regions[ended].end_call = cython.cast(cython.int, state[0].calls)
        top = state[0].depth - 1
        while top >= 0 and stack[top].stands_for < 0:
            top -= 1
        state[0].innermost = stack[top].stands_for if top >= 0 else -1


@cython.cfunc
@cython.exceptval(check=False)
def _leave(state: State[::1], stack: Frame[::1], calls: Call[::1], regions: Region[::1], name: cython.int) -> cython.void:
    """Close the innermost open region of this name, looked for in the upper DEEPEST."""
    level = state[0].depth - 1
    lowest = max(state[0].depth - DEEPEST, 0)
    while level >= lowest and stack[level].name != name:
        level -= 1
    if level < lowest:
        state[0].not_open += 1
    else:
        _close(state, stack, calls, regions, level)
        state[0].pairs += 1


@cython.cfunc
@cython.exceptval(check=False)
def _post(state: State[::1], requests: Request[::1], open_requests: cython.int[::1], number: cython.int) -> cython.int:
    """Post a request at the open call; an earlier one of the same number that is still open stays without completion."""
    row = cython.cast(cython.int, state[0].requests)
    requests[row].posted = cython.cast(cython.int, state[0].open)
    requests[row].done = -1
    requests[row].cancelled = 0
    open_requests[number] = row
    state[0].requests += 1
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _complete(state: State[::1], requests: Request[::1], open_requests: cython.int[::1], number: cython.int) -> cython.int:
    """Complete the open request of a number at the open call and return its row, -1 if none is open."""
    row = open_requests[number]
    if row >= 0:
        requests[row].done = cython.cast(cython.int, state[0].open)
        open_requests[number] = -1
    else:
        state[0].not_posted += 1
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _partner(record: Record, calls: Call[::1], call: cython.longlong) -> cython.void:
    """Give a call the partner of its first message record."""
    if calls[call].peer == -1 and calls[call].comm == -1:
        calls[call].peer = cython.cast(cython.int, record.reference)
        calls[call].tag = cython.cast(cython.int, record.tag)
        calls[call].comm = cython.cast(cython.int, record.communicator)


@cython.cfunc
@cython.exceptval(check=False)
def _message(state: State[::1], record: Record, messages: Message[::1], kind: cython.int, request: cython.int) -> cython.void:
    """Write a message record of the open call."""
    row = state[0].messages
    messages[row].bytes = record.amount
    messages[row].time = state[0].clock
    messages[row].call = cython.cast(cython.int, state[0].open)
    messages[row].peer = cython.cast(cython.int, record.reference)
    messages[row].tag = cython.cast(cython.int, record.tag)
    messages[row].comm = cython.cast(cython.int, record.communicator)
    messages[row].request = request
    messages[row].kind = cython.cast(cython.uchar, kind)
    state[0].messages += 1


@cython.cfunc
@cython.exceptval(check=False)
def _point_to_point(
    state: State[::1],
    record: Record,
    calls: Call[::1],
    messages: Message[::1],
    requests: Request[::1],
    open_requests: cython.int[::1],
) -> cython.void:
    """A record of a message or request belongs to the open call."""
    kind = record.kind
    call = state[0].open
    if kind in (SEND, ISEND):
        _partner(record, calls, call)
        calls[call].sent += record.amount
        _message(state, record, messages, SENT, _post(state, requests, open_requests, record.number) if kind == ISEND else -1)
    elif kind == RECV:
        _partner(record, calls, call)
        calls[call].received += record.amount
        _message(state, record, messages, RECEIVED, -1)
    elif kind in (IRECV_REQUEST, NONBLOCKING_REQUEST):
        _post(state, requests, open_requests, record.number)
    elif kind == REQUEST_TEST:
        if open_requests[record.number] >= 0:
            _message(state, record, messages, INCOMPLETE, open_requests[record.number])
    else:
        request = _complete(state, requests, open_requests, record.number)
        if kind == REQUEST_CANCELLED and request >= 0:
            requests[request].cancelled = 1
        elif kind == IRECV:
            calls[call].received += record.amount
            if request >= 0:
                _partner(record, calls, requests[request].posted)
            _message(state, record, messages, RECEIVED, request)
        elif kind == NONBLOCKING_COMPLETE and request >= 0:
            _collective(record, calls, requests[request].posted)


@cython.cfunc
@cython.exceptval(check=False)
def _begun(state: State[::1], calls: Call[::1]) -> cython.longlong:
    """Return when a collective outside any call began, not before the last call returned; now, if nobody said. Forgets it."""
    time = state[0].clock if state[0].collective_time == UNSAID else state[0].collective_time
    state[0].collective_time = UNSAID
    if state[0].calls > 0:
        time = max(time, calls[state[0].calls - 1].leave)
    return time


@cython.cfunc
@cython.exceptval(check=False)
def _collective(record: Record, calls: Call[::1], call: cython.longlong) -> cython.void:
    """Give a call the communicator, root and sizes of its collective record, which keeps the root where messages have their tag."""
    calls[call].comm = cython.cast(cython.int, record.communicator)
    calls[call].root = cython.cast(cython.int, record.tag)
    calls[call].sent = record.amount
    calls[call].received = record.received
    calls[call].bits |= COLLECTIVE_RECORD


def calls(
    rows: Record[::1],
    op_of_region: cython.const[cython.int][::1],
    op_of_kind: cython.const[cython.int][::1],
    op_of_operation: cython.const[cython.int][::1],
    state: State[::1],
    stack: Frame[::1],
    calls: Call[::1],
    regions: Region[::1],
    messages: Message[::1],
    requests: Request[::1],
    open_requests: cython.int[::1],
) -> None:
    """Turn the rows into calls, region instances, message records and requests; all have room for one more per row.

    `op_of_region` is NO_CALL for user regions; `op_of_kind`, and `op_of_operation` of collectives, are the ops of records outside any call.
    Rows from METRIC on get the number of calls entered so far, whether one is open, and, below OTHER_KIND, the innermost region.
    `open_requests` is the row of the request that is open under each number, -1 for none.
    """
    for i in range(rows.shape[0]):
        record = rows[i]
        kind = record.kind
        if record.time < state[0].clock:
            state[0].backwards += 1
        else:
            state[0].clock = record.time
        if kind == ENTER:
            _enter(state, stack, calls, regions, cython.cast(cython.int, record.reference), op_of_region[record.reference])
        elif kind == LEAVE:
            _leave(state, stack, calls, regions, cython.cast(cython.int, record.reference))
        elif kind == COLLECTIVE_BEGIN:
            state[0].collective_time = state[0].clock
        elif kind < METRIC:
            bare = state[0].open < 0
            if bare and kind == COLLECTIVE_END:
                _open_call(state, calls, op_of_operation[record.reference], _begun(state, calls), BARE)
            elif bare:
                _open_call(state, calls, op_of_kind[kind], state[0].clock, BARE)
            if kind == COLLECTIVE_END:
                _collective(record, calls, state[0].open)
            else:
                _point_to_point(state, record, calls, messages, requests, open_requests)
            if bare:
                calls[state[0].open].leave = state[0].clock
                state[0].open = -1
        else:
            rows[i].calls = cython.cast(cython.int, state[0].calls)
            rows[i].inside = state[0].open >= 0
            rows[i].region = cython.cast(cython.int, state[0].innermost) if kind < OTHER_KIND else -1


def close(state: State[::1], stack: Frame[::1], calls: Call[::1], regions: Region[::1]) -> None:
    """End what is still open at the last instant, and count it."""
    state[0].never_ends = state[0].depth
    while state[0].depth > 0:
        _close(state, stack, calls, regions, state[0].depth - 1)
